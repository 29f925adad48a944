// The directories to search for programs: PATH, or a default without it.

export function searchPath(env: Record<string, string | undefined>): string {
  return env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
}
