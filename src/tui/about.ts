// Keeps the facts that are always visible up to date: agent and model of the next turn, the context window of the model,
// and the git branch. Compares after each message, because many effects change them.
import type { AgentInfo } from "../protocol/api/agents.ts";
import type { About, UpdateMessage } from "./model/state.ts";
import type { EffectContext } from "./effects/effect-context.ts";
import { nextAgent } from "./effects/settings.ts";

/** The agent of a session that has not chosen one yet. */
const automatic = "auto";

/** The branch may have changed after these messages. */
function mayChangeBranch(message: UpdateMessage): boolean {
  if (message.type === "event") return message.event.type === "turn.ended" || message.event.type === "turn.started";
  return message.type === "set" && message.fields.hasFocus === true;
}

/** `whenDrawn` resolves when the current state is on the screen. */
export function createAboutReader(
  ctx: EffectContext,
  { branch: firstBranch, whenDrawn }: { branch: string | null; whenDrawn: () => Promise<void> },
): { onMessage: (message: UpdateMessage) => void } {
  let shown = { agent: "", model: null as string | null };
  let branch = firstBranch;
  let isOpened = false;

  /** Loads the price table, so the state is drawn first. */
  async function readModel(): Promise<void> {
    const { agent, model } = shown;
    const isChanged = () => shown.agent !== agent || shown.model !== model;
    await whenDrawn();
    if (isChanged()) return;
    const mayBeNative = agent === "native" || agent === automatic;
    const found = model === null && !mayBeNative ? null : await ctx.api.models.show({ model });
    // The default model needs a key. A chosen one is shown without it, too.
    const info = model === null && found?.ready !== true ? null : found;
    const signedIn = info === null && agent === automatic ? await findSignedIn() : undefined;
    if (isChanged()) return;
    if (signedIn !== undefined) ctx.send({ type: "about", about: { agent: signedIn.name } });
    if (info === null) return;
    const about = { model: model ?? info.name, contextWindow: info.contextWindow };
    // The native agent asks a model that has a key.
    ctx.send({ type: "about", about: { ...about, ...(agent === automatic && info.ready ? { agent: "native" } : {}) } });
  }

  /** The CLI that takes the turns if there is no key: the first one with its own sign-in. */
  async function findSignedIn(): Promise<AgentInfo | undefined> {
    return (await ctx.api.agents.list()).find(({ kind, missing }) => kind === "cli" && missing === null);
  }

  function readAgain(message: UpdateMessage): Partial<About> {
    const next = nextAgent(ctx);
    const isSameAgent = next.agent === shown.agent && next.model === shown.model;
    const nextBranch = mayChangeBranch(message) ? ctx.local.readBranch() : branch;
    const about = { ...(isSameAgent ? {} : { ...next, contextWindow: null }), ...(nextBranch === branch ? {} : { branch: nextBranch }) };
    shown = next;
    branch = nextBranch;
    // The window is an extra: without it only the share of the context is missing.
    if (!isSameAgent) readModel().catch(() => {});
    return about;
  }

  return {
    onMessage(message) {
      isOpened ||= message.type === "opened";
      if (!isOpened || message.type === "about" || message.type === "clock") return;
      const about = readAgain(message);
      if (Object.keys(about).length > 0) ctx.send({ type: "about", about });
    },
  };
}
