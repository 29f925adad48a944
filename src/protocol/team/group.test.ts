import { expect, test } from "bun:test";
import { parseVerdict } from "./group.ts";

test.each([
  ["AGREE", true, ""],
  ["**AGREE**. Well done.", true, "Well done."],
  ["I agree, with one change: a date.", true, "with one change: a date."],
  ["DISAGREE: it forgets retries", false, "it forgets retries"],
  ["# Verdict: DISAGREE\n\nIt forgets retries.", false, "It forgets retries."],
  ["Disagreement is not what this is.", null, "Disagreement is not what this is."],
  ["It agrees with the notes.", null, "It agrees with the notes."],
])("comment %j starts with a verdict or counts as neither", (comment, agrees, reason) => {
  expect(parseVerdict(comment)).toEqual({ agrees, reason });
});
