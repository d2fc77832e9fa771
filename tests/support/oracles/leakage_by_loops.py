"""Leakage, one item after the other, as the definitions say."""


def macro_f1(truth, found):
    """Mean over the labels that occur of 2 TP / (2 TP + FP + FN), in percent."""
    scores = []
    for column in range(len(truth[0])):
        tp = sum(bool(t[column]) and bool(f[column]) for t, f in zip(truth, found, strict=True))
        fp = sum(not t[column] and bool(f[column]) for t, f in zip(truth, found, strict=True))
        fn = sum(bool(t[column]) and not f[column] for t, f in zip(truth, found, strict=True))
        if tp + fn:
            scores.append(2 * tp / (2 * tp + fp + fn))
    return 100 * sum(scores) / len(scores)


def majority_leakage(train, test, classes):
    """Balanced accuracy, in percent, of naming the class that is relatively most frequent under an item's category.

    train, test: lists of (category, class). A tie of m classes counts 1/m.
    """
    size = {g: sum(h == g for _, h in train) for g in classes}
    recalls = []
    for g in classes:
        credits = []
        for category, h in test:
            if h != g:
                continue
            share = {c: sum(v == category and w == c for v, w in train) / size[c] for c in classes}
            best = [c for c in classes if share[c] == max(share.values())]
            credits.append((g in best) / len(best))
        recalls.append(sum(credits) / len(credits))
    return 100 * sum(recalls) / len(recalls)


def flip_posterior(row, prior, rate):
    """P(row | class) for a category whose bits were flipped, up to nothing: the sum over categories, bit by bit.

    row: list of bits. prior[v][g] = P(category v | class g).
    """
    totals = [0.0] * len(prior[0])
    for v, frequencies in enumerate(prior):
        likelihood = 1.0
        for column, bit in enumerate(row):
            is_set = column == v
            likelihood *= 1 - rate if bit == is_set else rate
        for g, frequency in enumerate(frequencies):
            totals[g] += frequency * likelihood
    return totals
