import { expect, test } from "bun:test";
import type { AgentInfo } from "../protocol/api/agents.ts";
import type { ModelSummary } from "../protocol/api/api.ts";
import { createAboutReader } from "./about.ts";
import type { EffectContext } from "./effects/effect-context.ts";
import type { UpdateMessage } from "./model/state.ts";

/** The agent that is shown for a new session of the agent `auto`. */
async function agentShown(model: ModelSummary | null, agents: Partial<AgentInfo>[]): Promise<string | undefined> {
  const sent: UpdateMessage[] = [];
  const listed = Promise.withResolvers<void>();
  const ctx = {
    api: {
      models: { show: async () => model },
      agents: {
        list: async () => {
          listed.resolve();
          return agents;
        },
      },
    },
    turn: { agent: null, model: null },
    open: { agent: "auto", model: null },
    session: null,
    local: { readBranch: () => null },
    send(message: UpdateMessage) {
      sent.push(message);
      if (sent.length > 1) listed.resolve();
    },
  } as unknown as EffectContext;
  const reader = createAboutReader(ctx, { branch: null, whenDrawn: async () => {} });
  reader.onMessage({ type: "opened", session: null, blocks: [], turns: [] });
  await listed.promise;
  await Bun.sleep(0);
  const shown = sent.flatMap((message) => (message.type === "about" && message.about.agent != null ? [message.about.agent] : []));
  return shown.at(-1);
}

const cli = (name: string, missing: string | null) => ({ name, kind: "cli", missing }) as const;

test("agent auto is shown as native with a key, as the first CLI with a sign-in without one, else as itself", async () => {
  const model = { name: "anthropic/claude-sonnet-4-5", contextWindow: 1 };
  expect(await agentShown({ ...model, ready: true }, [cli("claude", null)])).toBe("native");
  expect(await agentShown({ ...model, ready: false }, [cli("claude", "no key"), cli("codex", null), cli("pi", null)])).toBe("codex");
  expect(await agentShown(null, [cli("claude", "not installed")])).toBe("auto");
});
