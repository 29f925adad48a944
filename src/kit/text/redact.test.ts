import { describe, expect, test } from "bun:test";
import { redactDeep, redactor } from "./redact.ts";

const redact = redactor({ home: "/srv/people/ada", secrets: ["plain-words-key", "tiny"] });
const long = "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";

describe("secrets", () => {
  const table: [string, string, string][] = [
    ["an OpenAI key", `sk-${long}`, "[redacted]"],
    ["a project key", `sk-proj-${long}_-x`, "[redacted]"],
    ["an Anthropic key", `sk-ant-api03-${long}-AA`, "[redacted]"],
    ["a Google key", `AIzaSy${long}`, "[redacted]"],
    ["a Google access token", `ya29.a0${long}`, "[redacted]"],
    ["a GitHub token", `ghp_${long}`, "[redacted]"],
    ["a fine-grained GitHub token", `github_pat_11AA_${long}`, "[redacted]"],
    ["a GitLab token", `glpat-${long}`, "[redacted]"],
    ["a Slack token", "xoxb-123456789012-abcdefghij", "[redacted]"],
    ["an AWS key id", "AKIAIOSFODNN7EXAMPLE", "[redacted]"],
    ["an npm token", `npm_${long}`, "[redacted]"],
    ["a Stripe key", `sk_live_${long}`, "[redacted]"],
    ["a JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.s1gnature_-x", "[redacted]"],
    ["a bearer token", "Bearer abcdef123456==", "Bearer [redacted]"],
    ["an authorization header", "Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted]"],
    ["a header in JSON", '{"authorization":"token abc"}', '{"authorization":"[redacted]"}'],
    ["a password in a URL", "postgres://ada:hunter2@db:5432/x", "postgres://[redacted]@db:5432/x"],
    ["a token in a URL", `https://${"x".repeat(20)}@host/x`, "https://[redacted]@host/x"],
    ["an assignment", "export MY_API_KEY=abcdefgh12", "export MY_API_KEY=[redacted]"],
    ["a password in YAML", "password: 'correct-horse'", "password: '[redacted]'"],
    ["a secret in JSON", '{"client_secret": "abcd1234efgh"}', '{"client_secret": "[redacted]"}'],
    ["an e-mail address", "mail ada.l+x@mail.example.org now", "mail [e-mail] now"],
    ["the user's home", "/srv/people/ada/src and /srv/people/ada", "~/src and ~"],
    ["a Linux home", "cd /home/grace/work", "cd ~/work"],
    ["a Mac home", "/Users/grace", "~"],
    ["a home in a file URL", "file:///home/grace/a", "file://~/a"],
    ["a home of Windows, seen from Linux", "/mnt/c/Users/grace/x", "~/x"],
    ["a home on another disk", "/media/disk/home/grace.", "~"],
    ["a home in a query", "?path=%2Fhome%2Fgrace%2Fx", "?path=~%2Fx"],
    ["a home with escaped slashes", '"\\/home\\/grace\\/x"', '"~\\/x"'],
    ["the user's home at the end of a sentence", "in /srv/people/ada.", "in ~."],
    ["homes after colours", "\x1b[0;34m/home/grace\x1b[0m \x1b[1m/srv/people/ada/x", "\x1b[0;34m~\x1b[0m \x1b[1m~/x"],
    ["homes after escaped line breaks", '"a\\n/home/grace/x\\n/srv/people/ada"', '"a\\n~/x\\n~"'],
    ["a password in a URL after colours", "\x1b[31mhttps://u:p@h/x", "\x1b[31mhttps://[redacted]@h/x"],
    ["a Windows home", "C:\\Users\\grace\\x", "~\\x"],
    ["a home in a name made of a path", "projects/-home-grace-work", "projects/-home-work"],
    ["a value that is known", "is plain-words-key here", "is [redacted] here"],
    ["a key inside of JSON text", `{\\"k\\":\\"sk-${long}\\"}`, `{\\"k\\":\\"[redacted]\\"}`],
    ["a key after an escaped line break", `"a\\nsk-${long}"`, `"a\\n[redacted]"`],
    ["a key after colours", `\x1b[31msk-${long}\x1b[0m`, "\x1b[31m[redacted]\x1b[0m"],
    [
      "a private key",
      `a\n-----BEGIN OPENSSH PRIVATE KEY-----\n${long}\n-----END OPENSSH PRIVATE KEY-----\nb`,
      "a\n[redacted private key]\nb",
    ],
    ["a private key that is cut", `-----BEGIN RSA PRIVATE KEY-----\n${long}`, "[redacted private key]"],
  ];
  for (const [name, text, expected] of table) {
    test(`${name} is redacted`, () => expect(redact(text)).toBe(expected));
  }
});

describe("other text", () => {
  const table = [
    "a task-list of risk-averse asks",
    "tokens: 1234",
    "token: null",
    "the tiny word stays",
    "/srv/people/adam",
    "/old/srv/people/ada",
    "src/home/index.ts",
    "see https://host/a@b and @scope/package@1.2.3",
    "/homework/x and ./home/x",
    "01900000-0000-7000-8000-0000deadbeef",
    "desk-abcdefghijklmnop",
  ];
  for (const text of table) test(`${text} stays unchanged`, () => expect(redact(text)).toBe(text));
});

test("redactDeep redacts every string and key, except in kept objects", () => {
  const value = { a: [`sk-${long}`, 1, null], "/home/eve/x": { base64: `sk-${long}` } };
  expect(redactDeep<unknown>(value, redact, (item) => "base64" in item)).toEqual({
    a: ["[redacted]", 1, null],
    "~/x": { base64: `sk-${long}` },
  });
});

test("a megabyte of any text is redacted quickly", () => {
  for (const text of [
    "a".repeat(1 << 20),
    "-".repeat(1 << 20),
    "/home/".repeat(1 << 17),
    "eyJ".repeat(1 << 18),
    "x@".repeat(1 << 19),
    "a.".repeat(1 << 19),
    "secret".repeat(1 << 17),
  ])
    expect(redact(text).length).toBeGreaterThan(0);
});
