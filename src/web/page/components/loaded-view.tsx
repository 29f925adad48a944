// A view whose code may still have to be loaded.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../page-context.ts";
import { Problem, problemText } from "./action.tsx";

type LoadedViewProps<Props> = { load: () => Promise<ComponentType<Props>>; props: Props };

/** Views that were loaded before are also shown without a connection. */
const loadedBefore = new Map<unknown, unknown>();

export function LoadedView<Props extends object>({ load, props }: LoadedViewProps<Props>) {
  const { line } = usePage();
  const known = loadedBefore.get(load) as ComponentType<Props> | undefined;
  const [loaded, setLoaded] = useState<{ View: ComponentType<Props> } | null>(known === undefined ? null : { View: known });
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (loaded !== null) return;
    // Code is read only from a server that has proven to be the hub of this login.
    const loading = line.whenProven().then(load);
    loading.then(
      (View) => {
        loadedBefore.set(load, View);
        setLoaded({ View });
      },
      // After an update the old parts of the page are gone. The line then finds the new version.
      (error: unknown) => setProblem(problemText(error)),
    );
  }, [load]);
  if (problem !== null) return <Problem text={problem} />;
  if (loaded === null) return <p class="faint loading">loading</p>;
  const { View } = loaded;
  return <View {...props} />;
}
