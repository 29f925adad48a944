// Separates names that no rule of a .gitignore file can match from names that git must decide about. It never decides that a
// file is ignored. Most new files match no rule, and starting git for them takes longer than all else in a snapshot.

/** Whether one of the rules may match a file or directory with this name, wherever it is. Names have one letter for each byte. */
export type NameMatcher = (name: string) => boolean;

/**
 * A rule ignores a path if it matches the path or one of its directories. The last name of the rule then matches the name
 * of that file or directory. A rule is reduced to its last name, so it matches more here than in git.
 */
export function readIgnoreRules(text: string): NameMatcher {
  const matchers = text.split("\n").flatMap((line) => matcherOf(line) ?? []);
  return (name) => matchers.some((mayMatch) => mayMatch(name.toLowerCase()));
}

/** A longer name in a rule is no usual one. */
const maxNameLength = 200;
const matchesAny: NameMatcher = () => true;

/** Null for a line without a rule, and for one that includes files again: it can't ignore one. */
function matcherOf(line: string): NameMatcher | null {
  if (/^[#!]|^ *$/.test(line)) return null;
  const rule = line.replace(/ +$/, "").replace(/\/+$/, "");
  const name = rule.slice(rule.lastIndexOf("/") + 1).toLowerCase();
  // Backslashes, classes and control characters have rules of their own. Other alphabets need rules for upper and lower case.
  if (name === "" || name.length > maxNameLength || !/^[ -~]+$/.test(line) || /[\\[\]?]/.test(rule)) return matchesAny;
  const [first = "", ...others] = name.split(/\*+/);
  const last = others.pop();
  if (last === undefined) return (candidate) => candidate === first;
  // The text between two asterisks is left out: then the rule matches more, never less.
  return (candidate) => candidate.startsWith(first) && candidate.endsWith(last);
}
