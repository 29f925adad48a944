// A view whose code may still have to be loaded.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem, problemText } from "./action.tsx";

type LoadedViewProps<Props> = { load: () => Promise<ComponentType<Props>>; props: Props };

export function LoadedView<Props extends object>({ load, props }: LoadedViewProps<Props>) {
  const [loaded, setLoaded] = useState<{ View: ComponentType<Props> } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    load().then(
      (View) => setLoaded({ View }),
      // After an update the old parts of the page are gone. The line then finds the new version.
      (error: unknown) => setProblem(problemText(error)),
    );
  }, [load]);
  if (problem !== null) return <Problem text={problem} />;
  if (loaded === null) return <p class="faint loading">loading</p>;
  const { View } = loaded;
  return <View {...props} />;
}
