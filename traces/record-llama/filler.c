/*
 * The word lists and the few patterns of sentences. In a pattern %P, %V, %O, %L and %T stand for a
 * person, what the person does, to what, where and when.
 */
#include "traces/record-llama/filler.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const towns[] = {
    "Lisbon",  "Bergen",  "Tartu",   "Galway", "Utrecht", "Porto",    "Verona",  "Malmo",
    "Antwerp", "Trieste", "Cordoba", "Aarhus", "Leipzig", "Salzburg", "Dundee",  "Toulouse",
    "Krakow",  "Zadar",   "Bilbao",  "Turku",  "Ghent",   "Lucerne",  "Ravenna", "Limerick",
};

static const char *const people[] = {
    "the baker",         "an old fisherman", "the schoolteacher", "her younger brother",
    "a tired clerk",     "the gardener",     "my neighbour",      "the ferryman",
    "a travelling cook", "the librarian",    "one of the masons", "the widow upstairs",
    "a quiet student",   "the postman",      "the miller",        "a visiting doctor",
    "the night porter",  "his aunt",         "the bell ringer",   "a shepherd",
};

static const char *const deeds[] = {
    "carried",   "repaired",     "painted",     "forgot about", "looked for",
    "sold",      "talked about", "admired",     "cleaned",      "borrowed",
    "lost",      "wrapped up",   "wrote about", "put away",     "dreamed of",
    "inherited", "measured",     "gave away",   "traded",       "complained about",
};

static const char *const things[] = {
    "a wooden ladder",   "the blue curtains", "a basket of pears",  "the broken clock",
    "an iron kettle",    "two woollen coats", "a map of the coast", "the garden gate",
    "a jar of honey",    "the brass lantern", "an empty suitcase",  "the long letters",
    "a pair of boots",   "the kitchen table", "a bundle of reeds",  "the copper bell",
    "a stack of plates", "the rowing boat",   "a handful of seeds", "the silver spoon",
};

static const char *const places[] = {
    "near the harbour",        "behind the chapel",       "on the narrow bridge",
    "at the edge of the wood", "in the upper street",     "beside the mill",
    "under the chestnut tree", "by the northern gate",    "in the back room",
    "along the canal",         "outside the market hall", "at the foot of the hill",
    "in the empty theatre",    "across the meadow",       "beneath the stairs",
};

static const char *const times[] = {
    "before breakfast",       "after the rain",         "late in the evening",
    "on a windy morning",     "during the harvest",     "when the snow melted",
    "early in spring",        "toward midnight",        "in the dry season",
    "while the others slept", "at the end of the week", "just as the lamps were lit",
};

static const char *const patterns[] = {
    "%P %V %O %L %T.",
    "%T, %P %V %O %L.",
    "%L, %P %V %O, and %P %V %O.",
    "%P %V %O, but %P only %V %O %T.",
    "Nobody knew why %P %V %O %L.",
    "It was said that %P %V %O %T.",
    "%P %V %O; %T, %P %V it again %L.",
    "Most days %P %V %O, and nothing else happened %L.",
};

static const char *choose(struct kvr_random *random, const char *const *list, size_t count)
{
    return list[kvr_random_below(random, count)];
}

static const char *word(struct kvr_random *random, char kind)
{
    switch (kind) {
    case 'P':
        return choose(random, people, COUNT(people));
    case 'V':
        return choose(random, deeds, COUNT(deeds));
    case 'O':
        return choose(random, things, COUNT(things));
    case 'L':
        return choose(random, places, COUNT(places));
    default:
        return choose(random, times, COUNT(times));
    }
}

void kvr_filler_sentence(struct kvr_random *random, struct kvr_text *text)
{
    size_t start = text->length;
    for (const char *c = choose(random, patterns, COUNT(patterns)); *c != '\0'; c++) {
        if (*c == '%')
            kvr_text_string(text, word(random, *++c));
        else
            kvr_text_bytes(text, c, 1);
    }
    if (!text->failed && text->data[start] >= 'a' && text->data[start] <= 'z')
        text->data[start] = (char)(text->data[start] - 'a' + 'A');
}

const char *kvr_filler_town(struct kvr_random *random)
{
    return choose(random, towns, COUNT(towns));
}
