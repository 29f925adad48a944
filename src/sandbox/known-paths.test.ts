import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { scratchPaths, secretPaths } from "./known-paths.ts";

const home = mkdtempSync(join(tmpdir(), "known-paths-"));
const present = [".ssh/id", ".netrc", ".claude/x", ".config/gh/hosts.yml", ".config/Code/User/globalStorage/x", "moved/gh/hosts.yml"];
beforeAll(() => {
  for (const name of present) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), "");
  }
});
afterAll(() => rmSync(home, { recursive: true }));

test("secrets include files of the home directory and of the machine", () => {
  const places = secretPaths({ home, isRoot: false });
  for (const name of [".ssh", ".claude", ".netrc", ".config/gh", ".config/Code/User/globalStorage"])
    expect(places).toContain(join(home, name));
  for (const path of ["/etc/shadow", "/run/docker.sock"]) expect(places).toContain(path);
  expect(places.filter((path) => path.startsWith("/root"))).toEqual([]);
});

test("secrets whose directory does not exist are left out", () => {
  expect(secretPaths({ home, isRoot: false }).filter((path) => path.startsWith(join(home, ".aws")))).toEqual([]);
});

test("settings of a package manager are secret only if they contain a credential", () => {
  const [yarn, nuget] = [join(home, ".yarnrc"), join(home, ".nuget/NuGet/NuGet.Config")];
  mkdirSync(dirname(nuget), { recursive: true });
  writeFileSync(yarn, "lastUpdateCheck 1\n");
  writeFileSync(nuget, "<packageSourceCredentials><private/></packageSourceCredentials>");
  const places = secretPaths({ home, isRoot: false });
  expect([places.includes(yarn), places.includes(nuget)]).toEqual([false, true]);
});

test("directories of other agents are secret wherever their variables move them", () => {
  const env = { CODEX_HOME: "/srv/codex", GEMINI_CLI_HOME: "/srv", CLAUDE_CONFIG_DIR: "relative", PI_CODING_AGENT_DIR: undefined };
  const places = secretPaths({ home, isRoot: false, env });
  expect(places.filter((path) => path.startsWith("/srv")).toSorted()).toEqual(["/srv/.gemini", "/srv/codex"]);
  expect(places.every((path) => path.startsWith("/"))).toBe(true);
});

test("a variable moves a whole group of secrets, a list of files or a part of a directory", () => {
  const env = {
    XDG_CONFIG_HOME: join(home, "moved"),
    KUBECONFIG: "/srv/one/config:/srv/two/config",
    KRB5CCNAME: "FILE:/srv/tickets/cc",
    CARGO_HOME: "/srv/cargo/",
    GNUPGHOME: "/srv/gnupg/",
  };
  const places = secretPaths({ home, isRoot: false, env });
  expect(places).toContain(join(home, "moved/gh"));
  expect(places.filter((path) => path.startsWith("/srv")).toSorted()).toEqual([
    "/srv/cargo/credentials",
    "/srv/cargo/credentials.toml",
    "/srv/gnupg",
    "/srv/one/config",
    "/srv/tickets/cc",
    "/srv/two/config",
  ]);
});

test("a variable can't hide devices, temporary directories or the home directory", () => {
  const broad = ["/dev/null", "/", "/tmp", "/var/tmp", "/usr", home, dirname(home), `${home}/`, join(home, ".cache")];
  const known = secretPaths({ home, isRoot: false });
  for (const path of broad) expect(secretPaths({ home, isRoot: false, env: { HISTFILE: path } })).toEqual(known);
});

test("for root every home directory is covered, wherever HOME points", () => {
  const places = secretPaths({ home: "/somewhere", isRoot: true });
  expect(places).toEqual(expect.arrayContaining(secretPaths({ home: "/root", isRoot: false })));
});

test("no path is both secret and scratch, and all paths are absolute", () => {
  const secrets = secretPaths({ home, isRoot: false });
  const scratch = scratchPaths(home);
  expect(scratch.filter((path) => secrets.includes(path))).toEqual([]);
  expect([...secrets, ...scratch].every((path) => path.startsWith("/"))).toBe(true);
});
