// Phrases for "not signed in" and "a limit is reached", with the program or document that has them. They were read from
// the programs of the versions in bench/peers.ts, because most of them can't be provoked without an account.
import type { TurnStatus } from "../../../protocol/api/error.ts";

export type AccountPhrase = { kind: Extract<TurnStatus, "auth" | "rate-limited">; text: string; source: string };

type PhraseGroup = [kind: AccountPhrase["kind"], source: string, ...texts: string[]];

/** A text that contains the phrase, in any case, has this kind. The first match wins. */
const groups: PhraseGroup[] = [
  // Claude Code blames its server, not the account.
  ["rate-limited", "claude 2.1.325", "temporarily limiting requests"],
  ["auth", "MAOS's document", "not authenticated"],
  ["rate-limited", "MAOS's document", "rate limit"],
  [
    "auth",
    "claude 2.1.325",
    "not logged in",
    "please run /login",
    "run /login",
    "claude login",
    "claude auth login",
    "login expired",
    "session has expired",
    "session expired",
    "oauth token revoked",
    "failed to authenticate",
    "invalid api key",
  ],
  [
    "rate-limited",
    "claude 2.1.325",
    "usage limit",
    "session limit",
    "weekly limit",
    "5-hour limit",
    "out of extra usage",
    "monthly spend limit",
    "team's shared budget",
    "credit balance",
  ],
  [
    "auth",
    "codex 0.166.0",
    "codex login",
    "log out and sign in again",
    "please sign in again",
    "token could not be refreshed",
    "session could not be refreshed",
    "refresh token was revoked",
    "missing environment variable",
  ],
  ["rate-limited", "codex 0.166.0", "hit your usage limit", "out of credits", "workspace credit limit", "quota exceeded"],
  [
    "auth",
    "gemini 0.61.0",
    "please set an auth method",
    "invalid auth method",
    "error authenticating",
    "authentication cancelled",
    "gemini_api_key environment variable not found",
    "no api key provided",
    "api key is required",
    "fatalauthenticationerror",
  ],
  ["rate-limited", "gemini 0.61.0", "exhausted your daily quota", "exhausted your capacity", "capacity exceeded", "hit its quota limits"],
  ["auth", "opencode 1.18.33", "opencode auth login", "api key is missing", "providerautherror"],
  ["rate-limited", "opencode 1.18.33", "free usage exceeded", "usage limit reached"],
  ["auth", "pi 1.5.0", "no api key found", "no api key for", "no api key provided for provider", "to sign in again"],
  [
    "rate-limited",
    "pi 1.5.0",
    "hit your chatgpt usage limit",
    "monthly usage limit reached",
    "gousagelimiterror",
    "freeusagelimiterror",
    "out of budget",
    "insufficient_quota",
  ],
];

export const accountPhrases: readonly AccountPhrase[] = groups.flatMap(([kind, source, ...texts]) =>
  texts.map((text) => ({ kind, text, source })),
);

/** The kind of a message about the user's account; null if it has no known phrase. */
export function matchAccountPhrase(message: string): AccountPhrase["kind"] | null {
  const lower = message.toLowerCase();
  return accountPhrases.find(({ text }) => lower.includes(text))?.kind ?? null;
}
