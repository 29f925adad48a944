import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { systemPrompt, type PromptInput } from "./system-prompt.ts";
import { offeredTools } from "../tools/offered-tools.ts";

const given = (change: Partial<PromptInput> = {}): PromptInput => ({
  directory: "/home/someone/projects/thing",
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
  test("is short, and with the tools of every level it stays under 640 tokens", () => {
    for (const toolLevel of ["none", "minimal", "orchestrator", "readonly"] as const) {
      const tools = offeredTools({ toolLevel, tools: null, spawn: true, canAsk: true });
      const prompt = systemPrompt(given({ tools }));
      expect(countTokens(prompt)).toBeLessThan(260);
      expect(countTokens(prompt) + countTokens(JSON.stringify(tools))).toBeLessThan(640);
    }
  });

  test("is the same for the same input, and holds no time and no random word", () => {
    expect(systemPrompt(given())).toBe(systemPrompt(given()));
  });

  test("speaks only of tools that are there", () => {
    const prompt = systemPrompt(given({ tools: offeredTools({ toolLevel: "readonly", tools: null, spawn: true, canAsk: true }) }));
    expect(prompt).not.toMatch(/Prefer edit|Delegate/);
    expect(systemPrompt(given({ tools: [] }))).not.toMatch(/tool|Working directory/);
  });

  test("has context files, skills and the appended text behind the opening, in this order", () => {
    const contextFiles = [{ path: "/p/AGENTS.md", text: "\nbe kind\n" }];
    const prompt = systemPrompt(given({ system: "You are terse.", contextFiles, skills: "Skills: none", appendSystem: "And quick." }));
    expect(prompt).toBe(
      "You are terse.\n\nWorking directory: /home/someone/projects/thing\n\n## /p/AGENTS.md\nbe kind\n\nSkills: none\n\nAnd quick.",
    );
  });
});

describe("the system prompt of a plan", () => {
  test("that is executed is the original, and then the plan as it was written", () => {
    for (const change of [{}, { appendSystem: "And quick.", skills: "Skills: none" }])
      expect(systemPrompt(given({ ...change, plan: "1. look\n2. do\n" }))).toBe(
        `${systemPrompt(given(change))}\n\n## Plan\n1. look\n2. do\n`,
      );
  });

  test("that is made says in few words what can be written", () => {
    const planning = systemPrompt(given({ policy: { name: "plan", addDirs: [] } }));
    expect(planning).toContain("Only .skein/plan.md can be written, in place.");
    expect(countTokens(planning) - countTokens(systemPrompt(given()))).toBeLessThan(50);
    expect(systemPrompt(given({ tools: [], policy: { name: "plan", addDirs: [] } }))).not.toContain("plan.md");
  });
});

test("directories that belong to the work are named beside the working directory", () => {
  expect(systemPrompt(given({ policy: { name: "workspace", addDirs: ["/lib", "/docs"] } }))).toContain(
    "Working directory: /home/someone/projects/thing\nAlso yours: /lib\nAlso yours: /docs\n\n".trimEnd(),
  );
});

describe("the tools that are offered", () => {
  const names = (given: Parameters<typeof offeredTools>[0]) => offeredTools(given).map((tool) => tool.name);

  test("follow the level, --tools and --no-spawn", () => {
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

  test("hold a question only where someone can answer", () => {
    expect(names({ toolLevel: "readonly", tools: null, spawn: true, canAsk: false })).toEqual(["read", "bash"]);
    expect(names({ toolLevel: "none", tools: ["ask_user"], spawn: true, canAsk: false })).toEqual([]);
    expect(names({ toolLevel: "none", tools: ["ask_user"], spawn: true, canAsk: true })).toEqual(["ask_user"]);
  });

  test("must exist", () => {
    expect(() => offeredTools({ toolLevel: "minimal", tools: ["reed"], spawn: true, canAsk: true })).toThrow("unknown tool: reed");
  });
});
