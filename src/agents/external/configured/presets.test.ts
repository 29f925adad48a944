import { expect, test } from "bun:test";
import { agentPresets } from "./presets.ts";
import { recipeEntry } from "./recipe.ts";

test("every preset is a valid recipe with a hint, and has no name of a built-in agent or a vendor", () => {
  expect(Object.keys(agentPresets)).toEqual(["qwen", "copilot", "kimi", "cursor-agent", "goose", "crush", "amp"]);
  for (const [name, preset] of Object.entries(agentPresets)) {
    expect(recipeEntry(name, preset).name).toBe(name);
    expect(preset).toMatchObject({ command: name, hint: expect.any(String) });
  }
});

test("no preset passes a variable of the user on that is not its own credential", () => {
  const variables = Object.values(agentPresets).flatMap(({ env }) => Object.values(env).filter((text) => text.startsWith("$")));
  expect(variables).toEqual(["$COPILOT_GITHUB_TOKEN", "$CURSOR_API_KEY", "$AMP_API_KEY"]);
});
