// For servers on the loopback interface: the first free port, and the check of a caller's token.
import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Calls `listen` with `requestedPort`, or without one with up to 100 ports from `firstPort` on.
 * Returns null if all of these ports are in use.
 */
export function listenOnFreePort<Server>(requestedPort: number | null, firstPort: number, listen: (port: number) => Server): Server | null {
  const ports = requestedPort === null ? Array.from({ length: 100 }, (_, offset) => firstPort + offset) : [requestedPort];
  for (const port of ports) {
    try {
      return listen(port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
  return null;
}

/** Takes the same time for every input, so that the time reveals nothing about the token. */
export function isSameToken(sent: string, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(sent), hash(token));
}
