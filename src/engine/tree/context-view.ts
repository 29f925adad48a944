// `context.render`: the request that a session's agent would get for the next turn at a node.
import type { ContextView } from "../../protocol/api/api.ts";
import type { EngineDeps } from "../engine.ts";
import { findAgent } from "../turn/open-session.ts";

export async function renderContext(deps: EngineDeps, params: { session: string; node: string | null }): Promise<ContextView> {
  const store = await deps.store();
  const session = await store.findSession(params.session, null);
  const node = params.node ?? session.tip;
  const path = node === null ? [] : await store.path(node);
  const settings = await deps.methods.config.values();
  const preview = await findAgent(deps, session.agent).preview({
    session: session.id,
    path,
    model: session.model,
    directory: session.directory,
    project: session.project,
    toolLevel: session.toolLevel,
    tools: null,
    spawn: true,
    canAsk: true,
    system: null,
    appendSystem: null,
    contextFiles: settings.contextFiles,
    plan: session.plan ?? null,
    policy: { name: settings.policy, addDirs: [] },
  });
  return { session, node, ...preview };
}
