import { describe, expect, test } from "bun:test";
import type { Policy, PolicyName } from "../protocol/api/policy.ts";
import type { LaunchRequest } from "./launcher.ts";
import { enforcedPolicy, type SandboxSupport, sandboxCommand } from "./sandbox-command.ts";
import type { SandboxRules } from "./rules.ts";

const tools = { unshare: "/usr/bin/unshare", setpriv: "/usr/bin/setpriv" };
const machine = (
  tier: SandboxSupport["tier"],
  processes: SandboxSupport["processes"],
  more: Partial<SandboxSupport> = {},
): SandboxSupport => ({
  tier,
  processes,
  tools,
  why: null,
  hint: null,
  ...more,
});
const walls = (net: "on" | "off" = "off"): SandboxRules => ({
  rules: [{ path: "/", access: "read" }],
  net,
  unixSockets: false,
  temp: "/t",
  copies: "/c",
  maxProcesses: 9,
  keepsOwnerRights: false,
});
const wordsOf = (on: SandboxSupport, within: SandboxRules | null) =>
  sandboxCommand({ command: ["/bin/tool", "a b"], cwd: "/work", rules: within, support: on, selfCommand: ["/skein"] });
const order = (words: string[]) => JSON.parse(words.at(-1)!) as LaunchRequest;

const tied = ["/usr/bin/setpriv", "--pdeathsig", "KILL"];
const asked = ["/usr/bin/setpriv", "--pdeathsig", "TERM"];
const apart = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

describe("the words before a command", () => {
  test("as root: namespaces of mounts, processes, messages and the network, then the launcher", () => {
    const words = wordsOf(machine("namespaces", "plain"), walls());
    expect(words.slice(0, -1)).toEqual([...tied, "/usr/bin/unshare", ...apart, "--ipc", "--net", "--", "/skein", "__launch"]);
    expect(order(words)).toEqual({ rules: walls(), tier: "namespaces", cwd: "/work", command: ["/bin/tool", "a b"] });
  });

  test("as a user: one of users too, with the same user inside, and rights in it for the launcher", () => {
    const words = wordsOf(machine("namespaces", "with-user"), walls());
    expect(words.slice(4, -3)).toEqual(["--user", "--map-current-user", ...apart, "--ipc", "--net", "--keep-caps", "--"]);
  });

  test("with the network on there is no namespace for it", () => {
    expect(wordsOf(machine("namespaces", "plain"), walls("on"))).not.toContain("--net");
  });

  test("by Landlock alone: asked to end when we do, for it must end its children itself; then the launcher", () => {
    const words = wordsOf(machine("landlock", "no"), walls());
    expect(words.slice(0, -1)).toEqual([...asked, "/skein", "__launch"]);
    expect(order(words).tier).toBe("landlock");
    expect(wordsOf(machine("landlock", "no", { tools: null }), walls()).slice(0, -1)).toEqual(["/skein", "__launch"]);
  });

  test("on macOS: sandbox-exec with a profile; without walls the command itself", () => {
    const words = wordsOf(machine("seatbelt", "no", { tools: null }), walls());
    expect(words.slice(0, 2)).toEqual(["/usr/bin/sandbox-exec", "-p"]);
    expect(words.slice(3)).toEqual(["/bin/tool", "a b"]);
    expect(wordsOf(machine("seatbelt", "no", { tools: null }), null)).toEqual(["/bin/tool", "a b"]);
  });

  test("without walls: contained as well as the machine can, and never with a launcher", () => {
    const rows: [SandboxSupport, string[]][] = [
      [machine("namespaces", "plain"), [...tied, "/usr/bin/unshare", ...apart, "--"]],
      [machine("none", "with-user"), [...tied, "/usr/bin/unshare", "--user", "--map-current-user", ...apart, "--"]],
      [machine("none", "no"), asked],
      [machine("none", "no", { tools: null }), []],
    ];
    for (const [on, before] of rows) expect(wordsOf(on, null)).toEqual([...before, "/bin/tool", "a b"]);
    expect(wordsOf(machine("none", "no"), walls())).toEqual([...asked, "/bin/tool", "a b"]);
  });
});

describe("what a policy comes to", () => {
  const policy = (name: PolicyName, net: "on" | "off" = "off"): Policy => ({ name, sandbox: "auto", net, allowWrite: [], addDirs: [] });

  test("namespaces hold all of it", () => {
    expect(enforcedPolicy(machine("namespaces", "plain"), policy("workspace"))).toEqual({
      policy: "workspace",
      tier: "namespaces",
      fs: true,
      net: "off",
      secrets: true,
      processes: true,
      missing: [],
    });
  });

  test("a lower tier says what it does not hold", () => {
    const held = enforcedPolicy(machine("landlock", "no"), policy("plan"));
    expect(held).toMatchObject({ tier: "landlock", fs: true, net: "off", secrets: true, processes: false });
    expect(held.missing).toContain("processes");
    expect(enforcedPolicy(machine("seatbelt", "no"), policy("plan")).missing).toContain("processes");
  });

  test("nothing is said to hold where nothing does: not the network either", () => {
    const none = enforcedPolicy(machine("none", "no"), policy("readonly"));
    expect(none).toMatchObject({ tier: "none", fs: false, net: "on", secrets: false, processes: false });
    expect(none.missing).toEqual(["fs", "net", "secrets", "processes"]);
    expect(enforcedPolicy(machine("none", "plain"), policy("readonly")).missing).toEqual(["fs", "net", "secrets"]);
  });

  test("full misses nothing, because it asks for nothing", () => {
    expect(enforcedPolicy(machine("namespaces", "plain"), policy("full"))).toMatchObject({
      tier: "none",
      fs: false,
      net: "on",
      processes: true,
      missing: [],
    });
  });
});
