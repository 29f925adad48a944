// Ranks commits for one query: rare words count more than frequent ones, and the subject counts more than body and files.
import type { Commit } from "../../protocol/tree/history.ts";

/** The words of a text, split as the search of nodes splits them. */
export function searchWords(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])];
}

const fieldWeights = { subject: 3, body: 1, files: 1 };

/** Commits with every word, best first. If there are none, commits with any word. */
export function rankCommits(commits: readonly Commit[], query: string): Commit[] {
  const words = searchWords(query);
  const texts = commits.map(({ subject, body, files }) => ({
    subject: subject.toLowerCase(),
    body: body.toLowerCase(),
    files: files.join("\n").toLowerCase(),
  }));
  const rarity = words.map((word) => {
    const count = texts.filter((text) => Object.values(text).some((field) => hasWord(field, word))).length;
    return Math.log(1 + commits.length / (count + 1));
  });
  const scored = commits.map((commit, index) => {
    const weights = words.map((word, wordIndex) => weightOf(texts[index]!, word) * rarity[wordIndex]!);
    return { commit, matched: weights.filter((weight) => weight > 0).length, score: weights.reduce((sum, weight) => sum + weight, 0) };
  });
  const complete = scored.filter(({ matched }) => matched === words.length);
  const matches = complete.length > 0 ? complete : scored.filter(({ matched }) => matched > 0);
  // The sort is stable: commits with the same score stay in the order of the log, latest first.
  return matches.toSorted((a, b) => b.score - a.score).map(({ commit }) => commit);
}

function weightOf(text: Record<keyof typeof fieldWeights, string>, word: string): number {
  return (Object.keys(fieldWeights) as (keyof typeof fieldWeights)[]).reduce(
    (sum, field) => sum + (hasWord(text[field], word) ? fieldWeights[field] : 0),
    0,
  );
}

/** Whether a word of the text starts with `word`. */
function hasWord(text: string, word: string): boolean {
  for (let index = text.indexOf(word); index >= 0; index = text.indexOf(word, index + 1)) {
    if (index === 0 || !/[\p{L}\p{N}_]/u.test(text[index - 1]!)) return true;
  }
  return false;
}
