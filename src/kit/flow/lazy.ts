// Loads a value, or an object with methods, at its first use.

type AsyncMethods<Target> = { [Name in keyof Target]: (...args: never[]) => Promise<unknown> };

/** An object with the methods of the loaded one. Every method must be async. A failed load fails every later call. */
export function lazy<Target extends AsyncMethods<Target>>(load: () => Promise<Target>): Target {
  const loadOnce = once(load);
  const call = async (name: keyof Target, args: never[]): Promise<unknown> => (await loadOnce())[name](...args);
  return new Proxy({} as Target, {
    // A thenable would be called by `await`.
    get: (_target, name) => (name === "then" ? undefined : (...args: never[]) => call(name as keyof Target, args)),
  });
}

/**
 * Calls `load` at the first call. Every call gets the same promise, so callers continue in the order of their calls. Bun settles
 * concurrent imports of one module in any order.
 */
export function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | null = null;
  return () => (loading ??= load());
}
