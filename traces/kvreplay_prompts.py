"""Prompts to record: texts with needles, and needles in haystacks of any length, hit to the token.

Texts become token numbers here, and needles the exact spans of their tokens. It must not know
about models or traces. Needs a tokenizer of transformers that knows where its tokens stand in the
text (a fast one).
"""
from __future__ import annotations

import dataclasses
import random
from typing import Any, Dict, List, Optional, Sequence, Tuple

Span = Tuple[int, int]
MARK = "\N{REPLACEMENT CHARACTER}"


class PromptError(Exception):
    """What is wrong with a prompt or needle, in one line."""


@dataclasses.dataclass
class Prompt:
    """Token numbers, the spans of the needles in them, and attributes of the sample."""

    ids: List[int]
    needles: List[Span]
    attributes: Dict[str, Any] = dataclasses.field(default_factory=dict)


def tokens_of(tokenizer: Any, text: str, special: bool = False) -> Tuple[List[int], List[Span]]:
    """Token numbers and where each stands in the text."""
    if not tokenizer.is_fast:
        raise PromptError("needles by text need a fast tokenizer, which knows where its tokens stand")
    found = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
    return list(found["input_ids"]), [tuple(offset) for offset in found["offset_mapping"]]


def exact_span(text: str, offsets: Sequence[Span], start: int, end: int) -> Span:
    """The tokens that make up text[start:end], blanks around it aside; an error if they hold more."""
    inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start and b > a]
    if not inside:
        raise PromptError(f'needle "{text[start:end]}": has no token')
    held = text[offsets[inside[0]][0]:offsets[inside[-1]][1]]
    if held.strip() != text[start:end].strip():
        raise PromptError(f'needle "{text[start:end]}": its tokens hold "{held.strip()}"; ask for that')
    return inside[0], inside[-1] + 1


def needle_spans(text: str, offsets: Sequence[Span], needle: str) -> List[Span]:
    """Every place of the needle in the text, as spans of tokens."""
    spans, at = [], text.find(needle)
    while needle and at >= 0:
        spans.append(exact_span(text, offsets, at, at + len(needle)))
        at = text.find(needle, at + len(needle))
    if not spans:
        raise PromptError(f'needle "{needle}": is not in the prompt')
    return spans


def chat_text(tokenizer: Any, text: str) -> str:
    """The text as what a user says, up to where the model answers."""
    said = [{"role": "user", "content": text}]
    return tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)


def text_prompt(tokenizer: Any, text: str, needles: Sequence[str], chat: bool, **attributes: Any) -> Prompt:
    whole = chat_text(tokenizer, text) if chat else text
    ids, offsets = tokens_of(tokenizer, whole, special=not chat)
    spans = sorted({span for needle in needles for span in needle_spans(whole, offsets, needle)})
    return Prompt(ids, spans, attributes)


# ---------------------------------------------------------------------------- haystacks
WHO = ("The miller", "A tired courier", "My aunt", "The old gardener", "Her youngest brother", "The captain",
       "A travelling tinker", "The schoolmaster", "One of the weavers", "The baker's widow")
DID = ("carried", "forgot", "mended", "borrowed", "painted", "sold", "counted", "looked for", "gave away", "hid")
WHAT = ("a copper kettle", "two baskets of pears", "the garden gate", "a letter without a stamp", "an umbrella",
        "the blue ladder", "a box of candles", "three clay jars", "a map of the coast", "the church key")
WHERE = ("near the bridge", "before breakfast", "on the way to market", "behind the mill", "in the rain",
         "at the end of the lane", "under the chestnut tree", "after the concert", "beside the well", "by the ferry")
CITIES = ("Lisbon", "Oslo", "Cairo", "Lima", "Vienna", "Dublin", "Prague", "Athens", "Quito", "Tunis")


def invented_text(chance: random.Random, sentences: int) -> str:
    return " ".join(f"{chance.choice(WHO)} {chance.choice(DID)} {chance.choice(WHAT)} {chance.choice(WHERE)}."
                    for _ in range(sentences))


def filler_text(given: Optional[str], chance: random.Random, characters: int) -> str:
    """At least so many characters, up to a sentence's end: of the given text from a random place on
    (around its end as often as needed), or invented."""
    if given is None:
        return invented_text(chance, characters // 30 + 1)
    text = " ".join(given.split())
    starts = [0] + [i + 2 for i in range(len(text) - 2) if text[i] in ".!?" and text[i + 1] == " "]
    start = chance.choice(starts)
    text = (text[start:] + " " + text[:start]).strip()
    text = " ".join([text] * (characters // max(1, len(text)) + 1))
    end = min((at for at in (text.find(mark, characters) for mark in ".!?") if at >= 0), default=len(text))
    return text[:end + 1]


class Haystacks:
    """Needle prompts of a seed: the same filler for all depths of a length."""

    def __init__(self, tokenizer: Any, seed: int, filler: Optional[str] = None, chat: bool = False) -> None:
        self._tokenizer, self._seed, self._filler = tokenizer, seed, filler
        self._before, self._after = self._frame(chat)

    def _frame(self, chat: bool) -> Tuple[List[int], str]:
        """Token numbers that open a prompt, and the text that closes it."""
        if chat:
            before, after = chat_text(self._tokenizer, MARK).split(MARK)
            return tokens_of(self._tokenizer, before)[0], after
        bos = self._tokenizer.bos_token_id
        return ([bos] if bos is not None and self._tokenizer("a")["input_ids"][0] == bos else []), ""

    def _hay(self, count: int) -> Tuple[List[int], List[int]]:
        """The last `count` tokens of a filler, and the cuts between its sentences."""
        chance, characters = random.Random(f"{self._seed} filler {count}"), 6 * count + 200
        while True:
            text = filler_text(self._filler, chance, characters)
            ids, offsets = tokens_of(self._tokenizer, text)
            if len(ids) >= count:
                break
            characters *= 2
        kept = offsets[len(ids) - count:]
        ends = [i + 1 for i, (_, end) in enumerate(kept) if text[end - 1] in ".!?"]
        return ids[len(ids) - count:], [0] + ends

    def prompt(self, length: int, depth: float) -> Prompt:
        """`length` tokens with a secret number at `depth` per cent of the filler, at a sentence's start."""
        chance = random.Random(f"{self._seed} needle {length} {depth:g}")
        city, number = chance.choice(CITIES), str(chance.randrange(10000, 100000))
        said = f" The secret number of {city} is {number}."
        sentence, offsets = tokens_of(self._tokenizer, said)
        inner = needle_spans(said, offsets, number)[0]
        asked = f" What is the secret number of {city}? The secret number of {city} is"
        question = tokens_of(self._tokenizer, asked + self._after)[0]
        room = length - len(self._before) - len(sentence) - len(question)
        if room < 0:
            raise PromptError(f"a length of {length}: expected at least {length - room} tokens")
        hay, cuts = self._hay(room) if room else ([], [0])
        cut = max(c for c in cuts if c <= room * depth / 100) if depth < 100 else room
        start = len(self._before) + cut
        return Prompt(self._before + hay[:cut] + sentence + hay[cut:] + question,
                      [(start + inner[0], start + inner[1])],
                      {"task": "needle in a haystack", "subset": f"{length} tokens, depth {depth:g} %",
                       "answer": number})
