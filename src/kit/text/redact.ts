// Removes secrets from text: keys, tokens, passwords in URLs, e-mail addresses and home directories, by a table of
// patterns. Secrets without a recognisable form are passed as `secrets`. Every pattern is bounded, so that no text
// makes it slow.

export type RedactOptions = {
  /** The user's home directory, which is replaced with `~`. */
  home: string;
  /** Secrets without a recognisable form: the credentials of the environment. */
  secrets?: readonly string[];
};

type Rule = { pattern: RegExp; replacement: string };

const mask = "[redacted]";

/** Matches the start of a word. An escape sequence or an escaped line break before it does not belong to the word. */
function startOf(wordCharacters: string): string {
  return String.raw`(?:(?<![${wordCharacters}])|(?<=\x1b\[[\d;]{0,24}m)|(?<=\\[nrt]))`;
}

const homeName = String.raw`[^/\s\x00-\x1f"'\x60:;,<>|*?()[\]{}\\]+`;

const rules: readonly Rule[] = [
  {
    pattern: /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----[\s\S]*?(?:-----END \1-----|$)/g,
    replacement: "[redacted private key]",
  },
  {
    pattern: new RegExp(String.raw`${startOf("A-Za-z0-9+.-")}([a-z][a-z0-9+.-]{0,30}://)[^\s/?#"'<>@]{1,512}@`, "gi"),
    replacement: `$1${mask}@`,
  },
  {
    pattern: /\b((?:proxy-)?authorization)(["']?\s{0,8}[:=]\s{0,8}["']?)(?:(?:bearer|basic|token|digest)\s{1,8})?[^\s"',;]+/gi,
    replacement: `$1$2${mask}`,
  },
  { pattern: /\b(bearer)\s{1,8}[A-Za-z0-9._~+/=-]{8,}/gi, replacement: `$1 ${mask}` },
  { pattern: wordOf(String.raw`eyJ[A-Za-z0-9_-]{5,8192}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?`), replacement: mask },
  { pattern: wordOf(String.raw`(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{12,}`), replacement: mask },
  { pattern: wordOf(String.raw`AIza[A-Za-z0-9_-]{20,}`), replacement: mask },
  { pattern: wordOf(String.raw`ya29\.[A-Za-z0-9_-]{10,}`), replacement: mask },
  { pattern: wordOf(String.raw`(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,})`), replacement: mask },
  { pattern: wordOf(String.raw`xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}`), replacement: mask },
  { pattern: wordOf(String.raw`(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}`), replacement: mask },
  { pattern: wordOf(String.raw`(?:npm_|pypi-|hf_|gsk_|xai-|r8_|tvly-|dop_v1_|SG\.|lin_api_)[A-Za-z0-9_.-]{16,}`), replacement: mask },
  {
    pattern:
      /(?<![\w-])([\w-]{0,64}?(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?)[\w-]{0,64})(["']?\s{0,8}[:=]\s{0,8}["']?)(?!\d{1,15}(?!\w)|\[redacted)[^\s"',;&]{8,}/gi,
    replacement: `$1$2${mask}`,
  },
  {
    pattern: /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}\b/g,
    replacement: "[e-mail]",
  },
  {
    pattern: new RegExp(
      String.raw`${startOf(String.raw`\w.~-`)}(?:/(?:mnt|media|host|export|run|private|rootfs|Volumes)(?:/[^/\s"'\x60]{1,64}){0,4}?)?\\?/(?:home|Users)\\?/${homeName}`,
      "g",
    ),
    replacement: "~",
  },
  { pattern: /%2F(?:home|Users)%2F[^%\s"'`:;,<>|*?()[\]{}\\/&]+/gi, replacement: "~" },
  { pattern: /\b[A-Za-z]:\\+Users\\+[^\\/\s"'`:;,<>|*?]+/g, replacement: "~" },
  { pattern: /(?<=^|[\s"'`/])-(?:home|Users)-[A-Za-z0-9_.]+/g, replacement: "-home" },
];

/** Returns a function, so that the patterns are built once for many texts. */
export function redactor(options: RedactOptions): (text: string) => string {
  const secrets = (options.secrets ?? []).filter((secret) => secret.length >= 6).sort((a, b) => b.length - a.length);
  const home = options.home.replace(/\/+$/, "");
  const userRules: Rule[] = [
    ...secrets.map((secret) => ({ pattern: new RegExp(RegExp.escape(secret), "g"), replacement: mask })),
    ...(home.length > 1
      ? [{ pattern: new RegExp(String.raw`${startOf(String.raw`\w.-`)}${RegExp.escape(home)}(?![\w-])`, "g"), replacement: "~" }]
      : []),
  ];
  const allRules = [...userRules, ...rules];
  return (text) => allRules.reduce((result, { pattern, replacement }) => result.replace(pattern, replacement), text);
}

/** Values of variables with the name of a secret, such as `MY_TOKEN`. */
export function envSecrets(env: Record<string, string | undefined>): string[] {
  const entries = Object.entries(env).filter(([name]) => /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i.test(name));
  return entries.flatMap(([, value]) => (value === undefined || value.length < 8 ? [] : [value]));
}

/** Redacts every string inside a value, keys included. An object for which `isKept` is true stays unchanged. */
export function redactDeep<T>(value: T, redact: (text: string) => string, isKept: (value: object) => boolean = () => false): T {
  if (typeof value === "string") return redact(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactDeep(item, redact, isKept)) as T;
  if (typeof value !== "object" || value === null || isKept(value)) return value;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [redact(key), redactDeep(item, redact, isKept)]);
  return Object.fromEntries(entries) as T;
}

/** Matches `source` at the start of a word. */
function wordOf(source: string): RegExp {
  return new RegExp(`${startOf("A-Za-z0-9")}(?:${source})`, "g");
}
