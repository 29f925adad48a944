import { expect, test } from "bun:test";
import { toolEnvironment } from "./environment.ts";

test("what programs need is passed on", () => {
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

test("credentials, agents' sockets and internals are not", () => {
  const hidden = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "SSH_AUTH_SOCK",
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

test("an agent that is already named keeps its name", () => {
  expect(toolEnvironment({ AI_AGENT: "other" }).AI_AGENT).toBe("other");
  expect(toolEnvironment({ AI_AGENT: "" }).AI_AGENT).toBe("skein");
});
