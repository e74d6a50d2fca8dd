"""A model of transformers that goes on from a cache that was cut: masked, or with entries deleted.

LiveModel.see runs many ways of cutting a cache in one forward pass, under masks. LiveModel.decode_evicted
runs one of them token by token, with the entries really gone; the two share no arithmetic. It must
not know files, policies or figures. Needs torch, transformers (5.x) and numpy.
"""
from __future__ import annotations

import copy
import inspect
import os
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple

os.environ.setdefault("TQDM_DISABLE", "1")  # read when tqdm is imported, the next when torch is
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin slow a shared machine down

import numpy as np
import torch


class LiveError(Exception):
    """What keeps a run from going on, in one line."""


class Sample(NamedTuple):
    name: str
    tokens: np.ndarray
    prompt: int

    @property
    def answer(self) -> np.ndarray:
        return self.tokens[self.prompt:]


class MaskedAttention:
    """Attention of new tokens over a shared prefix, of which every row of the batch sees its own part.

    Registered in transformers' attention interface; the prefix isn't copied for the batch. The model
    is called without a cache, so the keys that come are those of the new tokens.
    """

    name = "kvreplay_masked"

    def __init__(self) -> None:
        self.keys: List[torch.Tensor] = []  # a layer: [KV heads][P][D]
        self.values: List[torch.Tensor] = []
        self.hidden: Optional[torch.Tensor] = None  # [layers][batch][KV heads][P], true where evicted

    def __call__(self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: Any,
                 scaling: float, softcap: Optional[float] = None, sliding_window: Optional[int] = None,
                 s_aux: Any = None, **_rest: Any) -> Tuple[torch.Tensor, None]:
        refuse_sinks(s_aux)
        past_key, past_value = self.keys[module.layer_idx], self.values[module.layer_idx]
        hidden = self.hidden[module.layer_idx]
        batch, heads, rows, size = query.shape
        kv_heads, prompt = past_key.shape[:2]
        ratio = heads // kv_heads
        grouped = query.reshape(batch, kv_heads, ratio * rows, size)
        gathered = grouped.transpose(0, 1).reshape(kv_heads, -1, size)
        past = (gathered @ past_key.mT).view(kv_heads, batch, ratio * rows, prompt).transpose(0, 1)
        scores = torch.cat([past, grouped @ key.mT], -1) * scaling
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        scores[..., :prompt].masked_fill_(hidden[:, :, None, :], -torch.inf)
        scores = scores.view(batch, kv_heads, ratio, rows, prompt + rows)
        scores.masked_fill_(unseen(rows, prompt, sliding_window, scores.device), -torch.inf)
        weights = scores.softmax(-1).view(batch, kv_heads, ratio * rows, -1)
        mixed = weights[..., :prompt].transpose(0, 1).reshape(kv_heads, -1, prompt) @ past_value
        mixed = mixed.view(kv_heads, batch, ratio * rows, -1).transpose(0, 1) + weights[..., prompt:] @ value
        return mixed.reshape(batch, heads, rows, -1).transpose(1, 2).contiguous(), None


def unseen(rows: int, prompt: int, window: Optional[int], device: Any) -> torch.Tensor:
    """[rows][P + rows], true where a new token may not look: the future, and before its window."""
    own = torch.arange(prompt, prompt + rows, device=device)[:, None]
    seen = torch.arange(prompt + rows, device=device)[None, :]
    hidden = seen > own
    return hidden if not window else hidden | (seen <= own - window)


def refuse_sinks(sinks: Any) -> None:
    if sinks is not None:
        raise LiveError("expected a model whose softmax has no sink logits, found s_aux")


class EvictedAttention:
    """Attention of one new token over a cache from which entries were deleted, head by head.

    Each KV head has a cache of its own length. It shares no code with MaskedAttention, which it checks.
    """

    name = "kvreplay_evicted"

    def __init__(self) -> None:
        self.caches: List[List[Tuple[torch.Tensor, torch.Tensor, torch.Tensor]]] = []
        self.position = 0

    def cut(self, keys: Sequence[torch.Tensor], values: Sequence[torch.Tensor], visible: np.ndarray) -> None:
        """Keeps, of each layer's [KV heads][P][D], the positions that are visible."""
        self.caches = []
        for key, value, layer in zip(keys, values, visible):
            kept = [torch.from_numpy(np.flatnonzero(head)).to(key.device) for head in layer]
            self.caches.append([(key[h][at], value[h][at], at) for h, at in enumerate(kept)])

    def __call__(self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: Any,
                 scaling: float, softcap: Optional[float] = None, sliding_window: Optional[int] = None,
                 s_aux: Any = None, **_rest: Any) -> Tuple[torch.Tensor, None]:
        refuse_sinks(s_aux)
        caches = self.caches[module.layer_idx]
        ratio = query.shape[1] // len(caches)
        now = torch.tensor([self.position], device=query.device)
        caches[:] = [(torch.cat([k, key[0, h]]), torch.cat([v, value[0, h]]), torch.cat([at, now]))
                     for h, (k, v, at) in enumerate(caches)]
        mixed = []
        for head in range(query.shape[1]):
            k, v, at = caches[head // ratio]
            logits = k @ query[0, head, 0] * scaling
            if softcap is not None:
                logits = softcap * torch.tanh(logits / softcap)
            if sliding_window:
                logits = logits[at > self.position - sliding_window]
                v = v[at > self.position - sliding_window]
            mixed.append(torch.softmax(logits, 0) @ v)
        return torch.stack(mixed)[None, None], None


# ---- the model


class Prefix(NamedTuple):
    """A prompt after its prefill, and what the model says with nothing evicted."""

    prompt: int
    keys: List[torch.Tensor]  # a layer: [KV heads][P][D]
    values: List[torch.Tensor]
    logits: torch.Tensor  # [answer + 1][vocabulary], rows P-1 ... N-1 of an unmodified forward pass

    def double(self) -> "Prefix":
        return Prefix(self.prompt, [k.double() for k in self.keys], [v.double() for v in self.values],
                      self.logits.double())


class LiveModel:
    """A causal model of transformers with the two attention functions in place."""

    def __init__(self, folder: str, gguf: Optional[str], device: str) -> None:
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        if folder.endswith(".gguf"):
            folder, gguf = os.path.dirname(folder) or ".", os.path.basename(folder)
        try:
            self.model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, gguf_file=gguf, dtype=torch.float32).eval().to(device)
        except (OSError, ValueError) as error:
            raise LiveError(f'"{folder}": cannot be loaded: {" ".join(str(error).split())}') from error
        self.device = device
        self._double: Optional[LiveModel] = None
        self.stock = self.model.config._attn_implementation
        self.masked, self.evicted = MaskedAttention(), EvictedAttention()
        for function in (self.masked, self.evicted):
            transformers.AttentionInterface.register(function.name, function)
        self.new_cache = transformers.DynamicCache
        config = self.model.config.get_text_config(decoder=True)
        self.vocabulary = config.vocab_size
        parameters = inspect.signature(self.model.forward).parameters
        self.cache_name = "cache" if "cache" in parameters else "past_key_values"  # its name before 5.2x
        self.ends = set(np.atleast_1d(self.model.generation_config.eos_token_id or []).tolist())

    def run(self, attention: str, tokens: torch.Tensor, start: int, cache: Any = None, **options: Any) -> Any:
        """The model on tokens [batch][rows] that stand at start, start + 1, ..."""
        self.model.set_attn_implementation(attention)
        places = torch.arange(start, start + tokens.shape[1], device=self.device)[None]
        options[self.cache_name] = cache
        with torch.inference_mode():
            return self.model(input_ids=tokens, position_ids=places.expand(len(tokens), -1),
                              use_cache=cache is not None, **options)

    def in_double(self) -> "LiveModel":
        """The same model in double precision, made when it is first asked for."""
        if self._double is None:
            self._double = copy.copy(self)
            self._double.model = copy.deepcopy(self.model).double()
        return self._double

    def ids(self, tokens: Iterable[int]) -> torch.Tensor:
        return torch.as_tensor(np.asarray(tokens, np.int64), device=self.device)[None]

    def prefill(self, sample: Sample) -> Prefix:
        """One unmodified forward pass of prompt and answer; causality makes its first P entries the prefill's."""
        if sample.tokens.min() < 0 or sample.tokens.max() >= self.vocabulary:
            raise LiveError(f"/samples/{sample.name}/tokens: expected tokens below {self.vocabulary}, as the model "
                            f"has them, found {sample.tokens.max()}")
        cache = self.new_cache()
        out = self.run(self.stock, self.ids(sample.tokens), 0, cache,
                       logits_to_keep=len(sample.answer) + 1)
        layers = cache.layers
        cut = [[entry[0, :, :sample.prompt].contiguous() for entry in (layer.keys, layer.values)] for layer in layers]
        return Prefix(sample.prompt, [k for k, _ in cut], [v for _, v in cut], out.logits[0])

    def see(self, prefix: Prefix, visible: np.ndarray, answer: np.ndarray) -> torch.Tensor:
        """Logits [conditions][rows][vocabulary] of the answer under visible [conditions][layers][KV heads][P]."""
        self.masked.keys, self.masked.values = prefix.keys, prefix.values
        hidden = torch.from_numpy(~visible).to(self.device)
        self.masked.hidden = hidden.transpose(0, 1).contiguous()
        return self.run(self.masked.name, self.ids(answer).expand(len(visible), -1), prefix.prompt).logits

    def greedy(self, prefix: Prefix, answer: np.ndarray) -> np.ndarray:
        """What greedy decoding answers with the full cache, as long as the answer or up to an end token."""
        said = prefix.logits.argmax(-1).tolist()[:-1]
        if said == answer.tolist():
            return answer
        cache = self.new_cache()
        for layer, (key, value) in enumerate(zip(prefix.keys, prefix.values)):
            cache.update(key[None], value[None], layer)
        tokens = said[:1]
        while len(tokens) < len(answer) and tokens[-1] not in self.ends:
            out = self.run(self.stock, self.ids(tokens[-1:]), prefix.prompt + len(tokens) - 1, cache)
            tokens.append(int(out.logits[0, -1].argmax()))
        return np.asarray(tokens)

    # ---- real eviction, one token at a time

    def decode_evicted(self, prefix: Prefix, visible: np.ndarray, answer: np.ndarray) -> Tuple[torch.Tensor, bool]:
        """Logits [rows][vocabulary] with the entries deleted; true if by the model's own cache and attention.

        Those need all heads of all layers to keep equally many. Else each head has a cache of its own.
        """
        own = len(set(visible.sum(-1).ravel().tolist())) == 1 and not self.has_windows()
        cache = self.new_cache() if own else None
        if own:
            for layer, (key, value) in enumerate(zip(prefix.keys, prefix.values)):
                at = torch.from_numpy(np.stack([np.flatnonzero(head) for head in visible[layer]])).to(self.device)
                cache.update(*(torch.take_along_dim(entry, at[..., None], 1)[None] for entry in (key, value)), layer)
        else:
            self.evicted.cut(prefix.keys, prefix.values, visible)
        rows = []
        for step, token in enumerate(answer):
            self.evicted.position = prefix.prompt + step
            rows.append(self.run(self.stock if own else self.evicted.name, self.ids([token]), prefix.prompt + step,
                                 cache).logits[0, -1])
        return torch.stack(rows), own

    def has_windows(self) -> bool:
        return any(getattr(module, "sliding_window", None) for module in self.model.modules())
