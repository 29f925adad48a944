// Runs the real Gemini CLI, opencode and pi with their adapters against the scripted model server, and checks the requests.
// Installs missing agents from the registry, so it is not part of npm test.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import type { Adapter } from "../../../src/agents/external/adapters/adapter.ts";
import { findExternalAgent } from "../../../src/agents/external/adapters/index.ts";
import { gemini } from "../../../src/agents/external/adapters/gemini.ts";
import { opencode } from "../../../src/agents/external/adapters/opencode.ts";
import { pi } from "../../../src/agents/external/adapters/pi.ts";
import type { RecordedRequest } from "../../../src/scripted-model/model-server.ts";
import { requestedModel } from "../../../src/scripted-model/side-requests.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { type CliRun, type CliSite, nativeIdOf, openCliSite } from "../../support/record-cli.ts";

setDefaultTimeout(300_000);

type AgentModel = { adapter: Adapter; model: string; effort: RegExp };

/** `effort` matches a high effort in the request of that model. */
const agentModels: AgentModel[] = [
  { adapter: gemini, model: "gemini-3-pro-preview", effort: /"thinkingLevel":"HIGH"/ },
  { adapter: gemini, model: "gemini-2.5-flash", effort: /"thinkingBudget":24576/ },
  { adapter: opencode, model: "claude-opus-5-5", effort: /"effort":"high"/ },
  { adapter: opencode, model: "gpt-5.2", effort: /"effort":"high"/ },
  { adapter: pi, model: "claude-sonnet-4-5", effort: /"budget_tokens":1\d{4}/ },
  { adapter: pi, model: "gpt-5.2", effort: /"effort":"high"/ },
  { adapter: pi, model: "gemini-3-pro-preview", effort: /"thinkingLevel":"HIGH"/ },
];

beforeAll(() => installPeers(["gemini", "opencode", "pi"]));

describe.each(agentModels)("$adapter.name with $model", ({ adapter, model, effort }) => {
  let site: CliSite;
  let first = "";
  beforeAll(() => {
    site = openCliSite(adapter, model, shellScript([], "answered"));
  });
  afterAll(() => site[Symbol.asyncDispose]());

  async function ask(launch: Parameters<CliSite["launch"]>[0]): Promise<{ ran: CliRun; id: string; request: RecordedRequest }> {
    site.server.clear();
    const ran = await site.run(site.launch(launch));
    const request = site.server.main().at(-1);
    if (request === undefined) throw new Error(`no request was sent: ${ran.stdout}${ran.stderr}`);
    return { ran, id: nativeIdOf(adapter, ran.stdout) ?? "", request };
  }

  test("a request has the chosen model, effort, role and token, and the agent prints its session", async () => {
    const ownId = crypto.randomUUID();
    const role = "You are called Rolly.";
    const { id, request, ran } = await ask({ start: { how: "new", id: ownId }, prompt: "remember the blue whale", effort: "high", role });
    expect(requestedModel(request.path, request.body)).toBe(model);
    expect(request.text).toMatch(effort);
    expect(request.text).toContain(role);
    expect(request.text).toContain("remember the blue whale");
    expect(Object.values(request.headers).join(" ")).toContain("throw-away-token");
    expect(site.server.requests.every((each) => each.method !== "POST" || requestedModel(each.path, each.body) === model)).toBeTrue();
    // opencode chooses its ids itself.
    if (adapter.name !== "opencode") expect(id).toBe(ownId);
    expect(id).not.toBe("");
    expect(ran.exitCode).toBe(0);
    first = id;
  });

  test("a transcript to repair is where the adapter looks for it, and no file contains the token", async () => {
    const config = site.launch({}).configDir;
    const glob = adapter.transcriptRepair?.glob(first);
    if (glob !== undefined) expect(await Array.fromAsync(new Bun.Glob(glob).scan({ cwd: config, dot: true }))).toHaveLength(1);
    for await (const name of new Bun.Glob("**/*").scan({ cwd: config, dot: true })) {
      expect(await Bun.file(join(config, name)).text()).not.toContain("throw-away-token");
    }
  });

  if (findExternalAgent(adapter.name)!.canFork) {
    test("a fork and its origin do not contain each other's later prompts", async () => {
      const fork = await ask({ start: { how: "fork", id: first, forkId: crypto.randomUUID() }, prompt: "words on the fork" });
      expect(fork.request.text).toContain("remember the blue whale");
      expect(fork.id).not.toBe(first);
      const trunk = await ask({ start: { how: "resume", id: first }, prompt: "words on the trunk" });
      expect(trunk.request.text).toContain("remember the blue whale");
      expect(trunk.request.text).not.toContain("words on the fork");
      const back = await ask({ start: { how: "resume", id: fork.id }, prompt: "more on the fork" });
      expect(back.request.text).toContain("words on the fork");
      expect(back.request.text).not.toContain("words on the trunk");
    });
  }

  test("a session resumes from the same configuration and directory", async () => {
    const { id, request } = await ask({ start: { how: "resume", id: first }, prompt: "- the last @words" });
    expect(id).toBe(first);
    expect(request.text).toContain("remember the blue whale");
    expect(request.text).toContain("- the last @words");
  });
});

/** Each file would create a file if the agent obeyed it. opencode always loads plugin files of a project: only the sandbox limits those. */
const hostileFiles: Record<string, (touch: string) => string> = {
  ".gemini/settings.json": (touch) =>
    JSON.stringify({ mcpServers: serverOf(touch), hooks: { SessionStart: [{ hooks: [{ type: "command", command: touch }] }] } }),
  "opencode.json": (touch) => JSON.stringify({ mcp: { x: { type: "local", command: ["sh", "-c", touch] } } }),
  ".opencode/opencode.json": (touch) => JSON.stringify({ mcp: { x: { type: "local", command: ["sh", "-c", touch] } } }),
  ".config/opencode/opencode.json": (touch) => JSON.stringify({ mcp: { x: { type: "local", command: ["sh", "-c", touch] } } }),
  ".pi/mcp.json": (touch) => JSON.stringify({ mcpServers: serverOf(touch) }),
  ".pi/agent/mcp.json": (touch) => JSON.stringify({ mcpServers: serverOf(touch) }),
  ".pi/settings.json": (touch) => JSON.stringify({ shellCommandPrefix: `${touch};` }),
};

function serverOf(touch: string): object {
  return { x: { command: "sh", args: ["-c", touch] } };
}

test.each([gemini, opencode, pi])("$name starts no server and no hook of the project or of the user's home", async (adapter) => {
  const model = adapter.vendor === "gemini" ? "gemini-3-pro-preview" : "claude-sonnet-4-5";
  await using site = openCliSite(adapter, model, shellScript(["echo ran"], "answered"));
  for (const directory of ["project", "home"]) {
    for (const [path, text] of Object.entries(hostileFiles)) {
      await Bun.write(join(site.root, directory, path), text(`touch ${site.root}/started-${directory}-${path.replaceAll("/", "-")}`));
    }
  }
  const ran = await site.run(site.launch({}));
  expect(ran.exitCode).toBe(0);
  expect(site.server.main().at(-1)?.text).toContain("ran");
  expect(await Array.fromAsync(new Bun.Glob("started-*").scan(site.root))).toEqual([]);
});
