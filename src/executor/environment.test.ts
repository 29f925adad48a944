import { expect, test } from "bun:test";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import { programEnvironment, toolEnvironment } from "./environment.ts";

test("tools see the variables that programs need", () => {
  const env = {
    PATH: "/bin",
    HOME: "/home/u",
    LC_ALL: "C.UTF-8",
    XDG_CACHE_HOME: "/c",
    HTTPS_PROXY: "http://127.0.0.1:1",
    GOPATH: "/go",
    VIRTUAL_ENV: "/venv",
    TMPDIR: "/t",
  };
  expect(toolEnvironment(env)).toEqual({ ...env, AI_AGENT: "skein" });
});

test("tools see no credentials, no sockets of agents and no internal variables", () => {
  const hidden = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "GNUPGHOME",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "KUBECONFIG",
    "XDG_RUNTIME_DIR",
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "XAUTHORITY",
    "TMUX",
    "VSCODE_IPC_HOOK_CLI",
    "NPM_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "HF_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GEMINI_API_KEY",
    "PGPASSWORD",
    "SUDO_ASKPASS",
    "GIT_ASKPASS",
    "BUN_JSC_useDFGJIT",
    "BUN_INSTALL",
    "SKEIN_HOME",
    "DATABASE_URL",
    "LD_PRELOAD",
    "BASH_ENV",
    "BASH_FUNC_ls%%",
    "NODE_OPTIONS",
    "PROMPT_COMMAND",
  ];
  const env = toolEnvironment(Object.fromEntries(hidden.map((name) => [name, "secret"])));
  expect(Object.keys(env).toSorted()).toEqual(["AI_AGENT", "PATH"]);
});

test("an AI_AGENT that is already set stays unchanged", () => {
  expect(toolEnvironment({ AI_AGENT: "other" }).AI_AGENT).toBe("other");
  expect(toolEnvironment({ AI_AGENT: "" }).AI_AGENT).toBe("skein");
});

const bounds: SandboxInfo = {
  policy: "workspace",
  net: "off",
  unixSockets: false,
  writable: [],
  hidden: [],
  temp: "/private/temp",
  maxProcesses: 1,
  maxMemoryBytes: null,
  isEnforced: true,
};

test("in the sandbox TMPDIR is the private directory, and proxy variables are removed if the network is off", () => {
  const env = { PATH: "/bin", TMPDIR: "/tmp", HTTPS_PROXY: "http://user:pass@proxy:1", http_proxy: "http://proxy:1" };
  const always = { PATH: "/bin", AI_AGENT: "skein", TMPDIR: "/private/temp" };
  expect(toolEnvironment(env, bounds)).toEqual(always);
  expect(toolEnvironment(env, { ...bounds, net: "on" })).toEqual({ ...env, ...always });
  expect(toolEnvironment(env, { ...bounds, isEnforced: false })).toEqual({ ...env, ...always });
});

test("with named hosts the proxy of skein replaces the user's own, and servers of the tools are reached without it", () => {
  const env = { PATH: "/bin", HTTPS_PROXY: "http://user:pass@proxy:1", NO_PROXY: "corp" };
  const url = "http://127.0.0.1:5";
  const seen = toolEnvironment(env, { ...bounds, named: { hosts: ["x.org"], port: 5 } });
  expect(seen).toMatchObject({ HTTPS_PROXY: url, http_proxy: url, all_proxy: url, NO_PROXY: "localhost,127.0.0.1,::1" });
  expect(toolEnvironment(env, { ...bounds, named: { hosts: ["localhost:3000"], port: 5 } }).no_proxy).toBe("127.0.0.1,::1");
  expect(toolEnvironment(env, { ...bounds, isEnforced: false, named: { hosts: ["x.org"], port: 5 } }).HTTPS_PROXY).toBe(env.HTTPS_PROXY);
});

test("with the network off, URLs are passed without user and password", () => {
  const env = { PATH: "/bin", GOPROXY: "https://ada:pw@proxy.corp/go,https://token@other.corp|direct", GOFLAGS: "-mod=mod a@b" };
  const seen = toolEnvironment(env, bounds);
  expect([seen.GOPROXY, seen.GOFLAGS]).toEqual(["https://proxy.corp/go,https://other.corp|direct", "-mod=mod a@b"]);
  expect(toolEnvironment(env, { ...bounds, net: "on" }).GOPROXY).toBe(env.GOPROXY);
});

test("the session variables are set by skein, whatever the user's own variables are", () => {
  const env = { PATH: "/bin", SKEIN_SESSION_ID: "outer", SKEIN_NESTING: "allowed" };
  const marked = (nesting: boolean) => toolEnvironment(env, { ...bounds, sessionTag: { session: "inner", nesting } });
  expect(marked(false)).toMatchObject({ SKEIN_SESSION_ID: "inner" });
  expect(marked(false)).not.toHaveProperty("SKEIN_NESTING");
  expect(marked(true)).toMatchObject({ SKEIN_SESSION_ID: "inner", SKEIN_NESTING: "allowed" });
  expect(toolEnvironment(env)).toEqual({ PATH: "/bin", AI_AGENT: "skein" });
});

test("a program gets its own variables, those that every program needs, and skein's tags, which it can't replace", () => {
  const tools = {
    PATH: "/bin",
    HOME: "/h",
    LC_ALL: "C",
    GOPATH: "/go",
    HTTPS_PROXY: "http://127.0.0.1:1",
    SKEIN_TAG: "x",
    AI_AGENT: "skein",
  };
  expect(programEnvironment(tools, { TOKEN: "t", HOME: "/other", SKEIN_TAG: "y" })).toEqual({
    PATH: "/bin",
    HOME: "/other",
    LC_ALL: "C",
    HTTPS_PROXY: "http://127.0.0.1:1",
    TOKEN: "t",
    SKEIN_TAG: "x",
  });
});
