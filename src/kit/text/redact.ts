// Takes out of a text what must not be given away: keys, tokens, passwords in URLs, e-mail addresses, home
// directories. A table of patterns; what they can't know (a key without a form) is given as `secrets`. Every pattern
// is bounded, so that no text makes it slow.

export type RedactOptions = {
  /** The user's own home directory. */
  home: string;
  /** Values that are secret whatever they look like: the credentials of the environment. */
  secrets?: readonly string[];
};

type Row = { pattern: RegExp; instead: string };

const gone = "[redacted]";

/** Not inside of a longer word; an escape sequence or an escaped line break before it is no part of it. */
function startOf(inside: string): string {
  return String.raw`(?:(?<![${inside}])|(?<=\x1b\[[\d;]{0,24}m)|(?<=\\[nrt]))`;
}

const homeName = String.raw`[^/\s\x00-\x1f"'\x60:;,<>|*?()[\]{}\\]+`;

const rows: readonly Row[] = [
  {
    pattern: /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----[\s\S]*?(?:-----END \1-----|$)/g,
    instead: "[redacted private key]",
  },
  {
    pattern: new RegExp(String.raw`${startOf("A-Za-z0-9+.-")}([a-z][a-z0-9+.-]{0,30}://)[^\s/?#"'<>@]{1,512}@`, "gi"),
    instead: `$1${gone}@`,
  },
  {
    pattern: /\b((?:proxy-)?authorization)(["']?\s{0,8}[:=]\s{0,8}["']?)(?:(?:bearer|basic|token|digest)\s{1,8})?[^\s"',;]+/gi,
    instead: `$1$2${gone}`,
  },
  { pattern: /\b(bearer)\s{1,8}[A-Za-z0-9._~+/=-]{8,}/gi, instead: `$1 ${gone}` },
  { pattern: wordOf(String.raw`eyJ[A-Za-z0-9_-]{5,8192}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?`), instead: gone },
  { pattern: wordOf(String.raw`(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{12,}`), instead: gone },
  { pattern: wordOf(String.raw`AIza[A-Za-z0-9_-]{20,}`), instead: gone },
  { pattern: wordOf(String.raw`ya29\.[A-Za-z0-9_-]{10,}`), instead: gone },
  { pattern: wordOf(String.raw`(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,})`), instead: gone },
  { pattern: wordOf(String.raw`xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}`), instead: gone },
  { pattern: wordOf(String.raw`(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}`), instead: gone },
  { pattern: wordOf(String.raw`(?:npm_|pypi-|hf_|gsk_|xai-|r8_|tvly-|dop_v1_|SG\.|lin_api_)[A-Za-z0-9_.-]{16,}`), instead: gone },
  {
    pattern:
      /(?<![\w-])([\w-]{0,64}?(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?)[\w-]{0,64})(["']?\s{0,8}[:=]\s{0,8}["']?)(?!\d{1,15}(?!\w)|\[redacted)[^\s"',;&]{8,}/gi,
    instead: `$1$2${gone}`,
  },
  {
    pattern: /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}\b/g,
    instead: "[e-mail]",
  },
  {
    pattern: new RegExp(
      String.raw`${startOf(String.raw`\w.~-`)}(?:/(?:mnt|media|host|export|run|private|rootfs|Volumes)(?:/[^/\s"'\x60]{1,64}){0,4}?)?\\?/(?:home|Users)\\?/${homeName}`,
      "g",
    ),
    instead: "~",
  },
  { pattern: /%2F(?:home|Users)%2F[^%\s"'`:;,<>|*?()[\]{}\\/&]+/gi, instead: "~" },
  { pattern: /\b[A-Za-z]:\\+Users\\+[^\\/\s"'`:;,<>|*?]+/g, instead: "~" },
  { pattern: /(?<=^|[\s"'`/])-(?:home|Users)-[A-Za-z0-9_.]+/g, instead: "-home" },
];

/** A function, so that a whole export is made with one set of patterns. */
export function redactor(options: RedactOptions): (text: string) => string {
  const secrets = (options.secrets ?? []).filter((secret) => secret.length >= 6).sort((a, b) => b.length - a.length);
  const home = options.home.replace(/\/+$/, "");
  const own: Row[] = [
    ...secrets.map((secret) => ({ pattern: new RegExp(RegExp.escape(secret), "g"), instead: gone })),
    ...(home.length > 1
      ? [{ pattern: new RegExp(String.raw`${startOf(String.raw`\w.-`)}${RegExp.escape(home)}(?![\w-])`, "g"), instead: "~" }]
      : []),
  ];
  const all = [...own, ...rows];
  return (text) => all.reduce((left, { pattern, instead }) => left.replace(pattern, instead), text);
}

/** What the environment calls a key is one, whatever it looks like. */
export function envSecrets(env: Record<string, string | undefined>): string[] {
  const named = Object.entries(env).filter(([name]) => /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i.test(name));
  return named.flatMap(([, value]) => (value === undefined || value.length < 8 ? [] : [value]));
}

/** Every string inside a value, keys included; an object that is to be kept stays as it is. */
export function redactDeep<T>(value: T, redact: (text: string) => string, isKept: (value: object) => boolean = () => false): T {
  if (typeof value === "string") return redact(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactDeep(item, redact, isKept)) as T;
  if (typeof value !== "object" || value === null || isKept(value)) return value;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [redact(key), redactDeep(item, redact, isKept)]);
  return Object.fromEntries(entries) as T;
}

function wordOf(source: string): RegExp {
  return new RegExp(`${startOf("A-Za-z0-9")}(?:${source})`, "g");
}
