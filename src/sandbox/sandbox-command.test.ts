import { describe, expect, test } from "bun:test";
import { defaultPolicy, type Policy, type PolicyName } from "../protocol/api/policy.ts";
import { type LaunchRequest, launchVariable } from "./launch-request.ts";
import { enforcedPolicy } from "./enforced-policy.ts";
import { moveLoaderVariables, type SandboxSupport, sandboxCommand } from "./sandbox-command.ts";
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
  nativeLauncher: null,
  landlockVersion: 6,
  why: null,
  hint: null,
  ...more,
});
const rules = (net: "on" | "off" = "off"): SandboxRules => ({
  rules: [{ path: "/", access: "read" }],
  net,
  unixSockets: false,
  temp: "/t",
  copies: "/c",
  maxProcesses: 9,
  keepsOwnerRights: false,
});
const commandOf = (on: SandboxSupport, within: SandboxRules | null) =>
  sandboxCommand({ command: ["/bin/tool", "a b"], cwd: "/work", rules: within, support: on, selfCommand: ["/skein"] });
const argsOf = (on: SandboxSupport, within: SandboxRules | null) => commandOf(on, within).command;
const requestOf = (on: SandboxSupport) => JSON.parse(commandOf(on, rules()).env[launchVariable]!) as LaunchRequest;

const tied = ["/usr/bin/setpriv", "--pdeathsig", "KILL"];
const asked = ["/usr/bin/setpriv", "--pdeathsig", "TERM"];
const apart = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

describe("sandboxCommand", () => {
  test("as root the command has mount, pid, ipc and network namespaces, then the launcher", () => {
    const args = argsOf(machine("namespaces", "plain"), rules());
    expect(args).toEqual([...tied, "/usr/bin/unshare", ...apart, "--ipc", "--net", "--", "/skein", "__launch"]);
    const command = ["/bin/tool", "a b"];
    expect(requestOf(machine("namespaces", "plain"))).toEqual({
      rules: rules(),
      tier: "namespaces",
      cwd: "/work",
      hasUserNamespace: false,
      landlockVersion: 6,
      command,
    });
  });

  test("as a user the command also has a user namespace with capabilities for the launcher", () => {
    const args = argsOf(machine("namespaces", "with-user"), rules());
    expect(requestOf(machine("namespaces", "with-user")).hasUserNamespace).toBe(true);
    expect(args.slice(4, -2)).toEqual(["--user", "--map-current-user", ...apart, "--ipc", "--net", "--keep-caps", "--"]);
  });

  test("without Landlock the tier namespaces names what it can't enforce", () => {
    expect(enforcedPolicy(machine("namespaces", "plain"), defaultPolicy).missing).toEqual([]);
    expect(enforcedPolicy(machine("namespaces", "plain", { lacksLandlock: true }), defaultPolicy).missing).toContain("named pipes outside");
  });

  test("with the network on there is no network namespace", () => {
    expect(argsOf(machine("namespaces", "plain"), rules("on"))).not.toContain("--net");
  });

  test("with Landlock alone the process gets SIGTERM when skein ends, so that it can end its children", () => {
    const args = argsOf(machine("landlock", "no"), rules());
    expect(args).toEqual([...asked, "/skein", "__launch"]);
    expect(requestOf(machine("landlock", "no")).tier).toBe("landlock");
    expect(argsOf(machine("landlock", "no", { tools: null }), rules())).toEqual(["/skein", "__launch"]);
  });

  test("on macOS the command runs in sandbox-exec, and unchanged without a sandbox", () => {
    const args = argsOf(machine("seatbelt", "no", { tools: null }), rules());
    expect(args.slice(0, 2)).toEqual(["/usr/bin/sandbox-exec", "-p"]);
    expect(args.slice(3)).toEqual(["/bin/tool", "a b"]);
    expect(argsOf(machine("seatbelt", "no", { tools: null }), null)).toEqual(["/bin/tool", "a b"]);
  });

  test("without a sandbox the processes are contained if the machine can, and there is no launcher", () => {
    const rows: [SandboxSupport, string[]][] = [
      [machine("namespaces", "plain"), [...tied, "/usr/bin/unshare", ...apart, "--"]],
      [machine("none", "with-user"), [...tied, "/usr/bin/unshare", "--user", "--map-current-user", ...apart, "--"]],
      [machine("none", "no"), asked],
      [machine("none", "no", { tools: null }), []],
    ];
    for (const [on, before] of rows) expect(argsOf(on, null)).toEqual([...before, "/bin/tool", "a b"]);
    expect(argsOf(machine("none", "no"), rules())).toEqual([...asked, "/bin/tool", "a b"]);
  });
});

describe("enforcedPolicy", () => {
  const policy = (name: PolicyName, net: "on" | "off" = "off"): Policy => ({ name, sandbox: "auto", net, allowWrite: [], addDirs: [] });

  test("namespaces enforce the whole policy", () => {
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

  test("a lower tier lists what it does not enforce", () => {
    const held = enforcedPolicy(machine("landlock", "no"), policy("plan"));
    expect(held).toMatchObject({ tier: "landlock", fs: true, net: "off", secrets: true, processes: false });
    expect(held.missing).toContain("processes");
    expect(enforcedPolicy(machine("seatbelt", "no"), policy("plan")).missing).toContain("processes");
  });

  test("without a sandbox nothing is reported as enforced, not even the network", () => {
    const named = { ...defaultPolicy, netHosts: ["x.org"] };
    const netOf = (...args: Parameters<typeof machine>) => enforcedPolicy(machine(...args), named);
    expect(netOf("namespaces", "plain")).toMatchObject({ net: "hosts", missing: [] });
    expect(netOf("landlock", "no", { landlockVersion: 4 })).toMatchObject({ net: "hosts" });
    expect(netOf("landlock", "no", { landlockVersion: 4 }).missing).toContain("other hosts at the port of skein's proxy");
    expect(netOf("landlock", "no", { landlockVersion: 3 }).missing).toContain("named hosts, which can't be reached");
    expect(netOf("none", "no")).toMatchObject({ net: "on", missing: ["fs", "net", "secrets", "processes"] });
    const none = enforcedPolicy(machine("none", "no"), policy("readonly"));
    expect(none).toMatchObject({ tier: "none", fs: false, net: "on", secrets: false, processes: false });
    expect(none.missing).toEqual(["fs", "net", "secrets", "processes"]);
    expect(enforcedPolicy(machine("none", "plain"), policy("readonly")).missing).toEqual(["fs", "net", "secrets"]);
  });

  test("policy full misses nothing, because it requires nothing", () => {
    expect(enforcedPolicy(machine("namespaces", "plain"), policy("full"))).toMatchObject({
      tier: "none",
      fs: false,
      net: "on",
      processes: true,
      missing: [],
    });
  });
});

test("variables of the dynamic loader are set behind the launcher, and all others stay in the environment", () => {
  const env = { PATH: "/bin", LD_LIBRARY_PATH: "lib:", DYLD_LIBRARY_PATH: undefined, LDFLAGS: "-L" };
  expect(moveLoaderVariables(env)).toEqual({
    args: ["/usr/bin/env", "LD_LIBRARY_PATH=lib:"],
    env: { PATH: "/bin", LDFLAGS: "-L" },
  });
  expect(moveLoaderVariables({ PATH: "/bin" })).toEqual({ args: [], env: { PATH: "/bin" } });
});
