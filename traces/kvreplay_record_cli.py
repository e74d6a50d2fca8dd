"""The command of kvreplay_record.py: loads a model, records prompts or a grid of haystacks.

It knows options and what to say about them; the rest is in kvreplay_record.py and
kvreplay_prompts.py.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import Any, Iterator, List, Optional, Sequence

from kvreplay_prompts import Haystacks, Prompt, PromptError, text_prompt
from kvreplay_trace import ELEMENTS, TraceError

EXAMPLES = """examples:
  kvreplay_record.py --model HuggingFaceTB/SmolLM2-135M-Instruct --chat --prompt-file novel.txt \\
      --needle 73915 --generate 16 -o trace.h5
  kvreplay_record.py --model FOLDER --gguf-file MODEL.gguf --niah 512,1024 -o grid.h5
"""


def numbers(text: str) -> List[int]:
    """Of a list such as 0,4-7."""
    found: List[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found += range(int(first), int(last if dash else first) + 1)
    return found


def rows(text: str) -> Optional[int]:
    return None if text == "all" else int(text)


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="kvreplay_record.py", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Records the attention of a Hugging Face model to a trace that kvreplay replays.")
    options.add_argument("-o", "--output", required=True, metavar="FILE", help="the trace")
    model = options.add_argument_group("model")
    model.add_argument("--model", required=True, help="name on the hub, or a folder")
    model.add_argument("--gguf-file", metavar="FILE", help="a GGUF file in that folder")
    model.add_argument("--attention", help="implementation: sdpa, eager, flash_attention_2 (the model's default)")
    model.add_argument("--dtype", default="auto", help="float32, bfloat16, float16 (as the model is stored)")
    model.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, mps, or auto for several (cpu)")
    prompts = options.add_argument_group("prompts")
    prompts.add_argument("--prompt-file", action="append", default=[], metavar="FILE",
                         help="a sample's text; may be given again")
    prompts.add_argument("--needle", action="append", default=[], metavar="TEXT",
                         help="what the answer has to be found in, to the token; may be given again")
    prompts.add_argument("--niah", type=numbers, metavar="LENGTHS",
                         help="hide a number in filler instead: prompts of so many tokens, at each depth")
    prompts.add_argument("--depths", type=numbers, default=[0, 25, 50, 75, 100], metavar="LIST",
                         help="per cent of the filler before it (0,25,50,75,100)")
    prompts.add_argument("--haystack", metavar="FILE", help="text to hide it in (invented sentences)")
    prompts.add_argument("--seed", type=int, default=1, help="of --niah: numbers, places, filler (1)")
    prompts.add_argument("--chat", action="store_true", help="as a user's words, in the model's chat template")
    prompts.add_argument("--batch", type=int, default=1, metavar="N", help="prompts that run together (1)")
    prompts.add_argument("--generate", type=int, default=64, metavar="N",
                         help="decode at most N tokens, up to the end of the answer; each is a decode row (64)")
    what = options.add_argument_group("what is recorded")
    what.add_argument("--rows", type=rows, default=32, metavar="N", help="the prompt's last N rows, or all (32)")
    what.add_argument("--store", default="attention,accumulated", metavar="LIST",
                      help="of attention, accumulated (costs as much as the model's own attention), query, key, value"
                      " (attention,accumulated)")
    what.add_argument("--layers", type=numbers, metavar="LIST", help="such as 0,4-7 (all)")
    what.add_argument("--type", choices=list(ELEMENTS), default="half", help="what numbers are rounded to (half)")
    return options


def check_options(options: argparse.Namespace, usage: argparse.ArgumentParser) -> None:
    if bool(options.prompt_file) == bool(options.niah):
        usage.error("expected --prompt-file or --niah")
    if options.niah and options.needle:
        usage.error("--niah brings needles of its own; --needle is for --prompt-file")
    if options.rows == 0 or options.batch < 1 or options.generate < 0:
        usage.error("--rows and --batch are at least 1, --generate at least 0")
    if not all(0 <= depth <= 100 for depth in options.depths):
        usage.error("--depths are per cent, 0 ... 100")


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def prompts_of(options: argparse.Namespace, tokenizer: Any) -> List[Prompt]:
    if not options.niah:
        return [text_prompt(tokenizer, read(path), options.needle, options.chat, task=os.path.basename(path))
                for path in options.prompt_file]
    filler = None if options.haystack is None else read(options.haystack)
    haystacks = Haystacks(tokenizer, options.seed, filler, options.chat)
    return [haystacks.prompt(length, depth) for length in options.niah for depth in options.depths]


def load(options: argparse.Namespace) -> Any:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": options.gguf_file} if options.gguf_file else {}
    tokenizer = AutoTokenizer.from_pretrained(options.model, **source)
    wishes = {"attn_implementation": options.attention} if options.attention else {}
    if options.device == "auto":
        wishes["device_map"] = "auto"
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=options.dtype, **source, **wishes)
    if options.device != "auto":
        model = model.to(options.device)
    return tokenizer, model.eval()


def batches(prompts: Sequence[Prompt], size: int) -> Iterator[Sequence[Prompt]]:
    for start in range(0, len(prompts), size):
        yield prompts[start:start + size]


def padded(prompts: Sequence[Prompt], token: int) -> Any:
    """Token numbers and attention mask of a batch, padded on the left, and the needles moved."""
    import torch

    length = max(len(prompt.ids) for prompt in prompts)
    pads = [length - len(prompt.ids) for prompt in prompts]
    inputs = {"input_ids": torch.tensor([[token] * pad + prompt.ids for pad, prompt in zip(pads, prompts)]),
              "attention_mask": torch.tensor([[0] * pad + [1] * (length - pad) for pad in pads])}
    needles = [[(start + pad, end + pad) for start, end in prompt.needles] for pad, prompt in zip(pads, prompts)]
    return inputs, needles


def run(options: argparse.Namespace) -> None:
    from kvreplay_record import record

    tokenizer, model = load(options)
    prompts = prompts_of(options, tokenizer)
    filling = next((t for t in (tokenizer.pad_token_id, tokenizer.eos_token_id) if t is not None), 0)
    name = os.path.splitext(options.gguf_file)[0] if options.gguf_file else options.model.rstrip("/")
    done = 0
    with record(model, options.output, rows=options.rows, store=options.store.split(","),
                layers=options.layers, element=options.type, name=os.path.basename(name), tokenizer=tokenizer) as recorder:
        for batch in batches(prompts, options.batch):
            inputs, needles = padded(batch, filling)
            names = sorted({name for prompt in batch for name in prompt.attributes})
            attributes = {name: [prompt.attributes[name] for prompt in batch] for name in names}
            with recorder.prompts(inputs, needles, **attributes):
                # The last token that is generated is never fed: hence one more.
                model.generate(**{name: tensor.to(model.device) for name, tensor in inputs.items()},
                               max_new_tokens=options.generate + 1, do_sample=False, pad_token_id=filling)
            done += len(batch)
            print(f"recorded {done} of {len(prompts)} samples, {inputs['input_ids'].shape[1]} tokens",
                  file=sys.stderr, flush=True)


def main() -> None:
    usage = parser()
    options = usage.parse_args()
    check_options(options, usage)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an error: the .tmp is removed
    try:
        run(options)
    except (TraceError, PromptError, ImportError, OSError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
