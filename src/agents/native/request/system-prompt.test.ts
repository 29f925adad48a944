import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { systemPrompt, type PromptInput } from "./system-prompt.ts";
import { offeredTools } from "../tools/offered-tools.ts";

const promptInput = (change: Partial<PromptInput> = {}): PromptInput => ({
  directory: "/home/user/projects/thing",
  tools: offeredTools({ toolLevel: "orchestrator", tools: null, spawn: true, canAsk: true }),
  system: null,
  appendSystem: null,
  contextFiles: [],
  skills: "",
  policy: { name: "workspace", addDirs: [] },
  plan: null,
  ...change,
});

describe("the system prompt", () => {
  test("the system prompt and the tools of any level have less than 640 tokens", () => {
    for (const toolLevel of ["none", "minimal", "orchestrator", "readonly"] as const) {
      const tools = offeredTools({ toolLevel, tools: null, spawn: true, canAsk: true });
      const prompt = systemPrompt(promptInput({ tools }));
      expect(countTokens(prompt)).toBeLessThan(260);
      expect(countTokens(prompt) + countTokens(JSON.stringify(tools))).toBeLessThan(640);
    }
  });

  test("the system prompt is the same for the same input", () => {
    expect(systemPrompt(promptInput())).toBe(systemPrompt(promptInput()));
  });

  test("the system prompt mentions only offered tools", () => {
    const prompt = systemPrompt(promptInput({ tools: offeredTools({ toolLevel: "readonly", tools: null, spawn: true, canAsk: true }) }));
    expect(prompt).not.toMatch(/Prefer edit|Delegate/);
    expect(systemPrompt(promptInput({ tools: [] }))).not.toMatch(/tool|Working directory/);
  });

  test("context files, skills and the appended text follow the opening in this order", () => {
    const contextFiles = [{ path: "/p/AGENTS.md", text: "\nbe kind\n" }];
    const prompt = systemPrompt(
      promptInput({ system: "You are terse.", contextFiles, skills: "Skills: none", appendSystem: "And quick." }),
    );
    expect(prompt).toBe(
      "You are terse.\n\nWorking directory: /home/user/projects/thing\n\n## /p/AGENTS.md\nbe kind\n\nSkills: none\n\nAnd quick.",
    );
  });
});

describe("the system prompt of a plan", () => {
  test("a plan that is executed follows the unchanged system prompt", () => {
    for (const change of [{}, { appendSystem: "And quick.", skills: "Skills: none" }])
      expect(systemPrompt(promptInput({ ...change, plan: "1. look\n2. do\n" }))).toBe(
        `${systemPrompt(promptInput(change))}\n\n## Plan\n1. look\n2. do\n`,
      );
  });

  test("the policy plan adds less than 50 tokens, which name the only writable file", () => {
    const planning = systemPrompt(promptInput({ policy: { name: "plan", addDirs: [] } }));
    expect(planning).toContain("Only .skein/plan.md can be written, in place.");
    expect(countTokens(planning) - countTokens(systemPrompt(promptInput()))).toBeLessThan(50);
    expect(systemPrompt(promptInput({ tools: [], policy: { name: "plan", addDirs: [] } }))).not.toContain("plan.md");
  });
});

test("added directories are listed after the working directory", () => {
  expect(systemPrompt(promptInput({ policy: { name: "workspace", addDirs: ["/lib", "/docs"] } }))).toContain(
    "Working directory: /home/user/projects/thing\nAlso yours: /lib\nAlso yours: /docs\n\n".trimEnd(),
  );
});

describe("the tools that are offered", () => {
  const names = (selection: Parameters<typeof offeredTools>[0]) => offeredTools(selection).map((tool) => tool.name);

  test("the offered tools follow the level, --tools and --no-spawn", () => {
    expect(names({ toolLevel: "none", tools: null, spawn: true, canAsk: true })).toEqual([]);
    expect(names({ toolLevel: "minimal", tools: null, spawn: true, canAsk: true })).toEqual(["read", "write", "edit", "bash", "ask_user"]);
    expect(names({ toolLevel: "orchestrator", tools: null, spawn: true, canAsk: true })).toEqual([
      "read",
      "write",
      "edit",
      "bash",
      "spawn_session",
      "ask_user",
    ]);
    expect(names({ toolLevel: "orchestrator", tools: null, spawn: false, canAsk: true })).toEqual([
      "read",
      "write",
      "edit",
      "bash",
      "ask_user",
    ]);
    expect(names({ toolLevel: "readonly", tools: null, spawn: true, canAsk: true })).toEqual(["read", "bash", "ask_user"]);
    expect(names({ toolLevel: "orchestrator", tools: ["bash", "read"], spawn: true, canAsk: true })).toEqual(["read", "bash"]);
  });

  test("ask_user is offered only if there is a user to ask", () => {
    expect(names({ toolLevel: "readonly", tools: null, spawn: true, canAsk: false })).toEqual(["read", "bash"]);
    expect(names({ toolLevel: "none", tools: ["ask_user"], spawn: true, canAsk: false })).toEqual([]);
    expect(names({ toolLevel: "none", tools: ["ask_user"], spawn: true, canAsk: true })).toEqual(["ask_user"]);
  });

  test("an unknown tool is refused", () => {
    expect(() => offeredTools({ toolLevel: "minimal", tools: ["reed"], spawn: true, canAsk: true })).toThrow("unknown tool: reed");
  });
});
