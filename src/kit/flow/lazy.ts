// Loads an object at the first call of one of its methods.

type AsyncMethods<Target> = { [Name in keyof Target]: (...args: never[]) => Promise<unknown> };

/** An object with the methods of the loaded one. Every method must be async. A failed load fails every later call. */
export function lazy<Target extends AsyncMethods<Target>>(load: () => Promise<Target>): Target {
  let loading: Promise<Target> | null = null;
  const call = async (name: keyof Target, args: never[]): Promise<unknown> => (await (loading ??= load()))[name](...args);
  return new Proxy({} as Target, {
    // A thenable would be called by `await`.
    get: (_target, name) => (name === "then" ? undefined : (...args: never[]) => call(name as keyof Target, args)),
  });
}
