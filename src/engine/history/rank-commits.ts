// Ranks commits for one query: rare words count more than frequent ones, the subject more than the rest.
import type { Commit } from "../../protocol/tree/history.ts";

/** As the search of nodes sees them. */
export function searchWords(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])];
}

const shares = { subject: 3, body: 1, files: 1 };

/** Those that have every word, the best first; where there are none, those that have any. */
export function rankCommits(commits: readonly Commit[], query: string): Commit[] {
  const words = searchWords(query);
  const texts = commits.map(({ subject, body, files }) => ({
    subject: subject.toLowerCase(),
    body: body.toLowerCase(),
    files: files.join("\n").toLowerCase(),
  }));
  const rarity = words.map((word) => {
    const having = texts.filter((text) => Object.values(text).some((field) => hasWord(field, word))).length;
    return Math.log(1 + commits.length / (having + 1));
  });
  const weighed = commits.map((commit, at) => {
    const each = words.map((word, place) => weightOf(texts[at]!, word) * rarity[place]!);
    return { commit, has: each.filter((weight) => weight > 0).length, score: each.reduce((sum, weight) => sum + weight, 0) };
  });
  const whole = weighed.filter(({ has }) => has === words.length);
  const kept = whole.length > 0 ? whole : weighed.filter(({ has }) => has > 0);
  // Of two that are as good, the later one comes first, as the log has it.
  return kept.toSorted((a, b) => b.score - a.score).map(({ commit }) => commit);
}

function weightOf(text: Record<keyof typeof shares, string>, word: string): number {
  return (Object.keys(shares) as (keyof typeof shares)[]).reduce((sum, field) => sum + (hasWord(text[field], word) ? shares[field] : 0), 0);
}

/** At the beginning of a word: what begins so is meant too. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}_]/u.test(text[at - 1]!)) return true;
  }
  return false;
}
