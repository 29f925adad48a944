// Starts a new session from the inbox: the directory, then the same composer as in a session.
import { useState } from "preact/hooks";
import { homeProject, type Session } from "../../../../protocol/tree/turn.ts";
import { Composer } from "../../components/composer.tsx";
import { usePage } from "../../page-context.ts";
import { goTo } from "../../route.ts";
import { startTurn } from "../../state/start-turn.ts";

export function StartSession({ sessions }: { sessions: readonly Session[] }) {
  const { line, directory: callerDirectory } = usePage();
  const known = [...new Set([...(callerDirectory === null ? [] : [callerDirectory]), ...sessions.map(homeProject)])].slice(0, 30);
  const [chosen, setChosen] = useState<string | null>(null);
  const directory = chosen ?? known[0] ?? "";
  return (
    <section class="new" aria-label="new session">
      <Composer
        draftName="new"
        placeholder="What should be done?"
        current={null}
        extra={
          <label class="field">
            <span>in</span>
            <input
              class="input small"
              list="directories"
              aria-label="directory of the new session"
              value={directory}
              onChange={(event) => setChosen(event.currentTarget.value)}
            />
            <datalist id="directories">
              {known.map((path) => (
                <option key={path} value={path} />
              ))}
            </datalist>
          </label>
        }
        actions={[
          {
            label: "Start",
            tone: "primary",
            run: async (message) => {
              const api = await line.apiIn(directory);
              const session = await api.session.open({ directory, find: { by: "new" } } as Parameters<typeof api.session.open>[0]);
              await startTurn(api, session.id, message);
              goTo("session", session.id);
            },
          },
        ]}
      />
    </section>
  );
}
