// Responses of the page's server with the headers that a browser enforces: scripts, styles and connections only of this
// origin, no frames, no referrer, no guessing of types.
import type { PageFile } from "./page-files.ts";

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images of a conversation are shown from memory.
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const safeHeaders: Record<string, string> = {
  "Content-Security-Policy": contentPolicy,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** Adds the safe headers to every response, also to a refusal. */
export function withSafeHeaders(response: Response): Response {
  for (const [name, value] of Object.entries(safeHeaders)) response.headers.set(name, value);
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  return response;
}

/** Files with a hash in their name never change. */
export function fileResponse(request: Request, { type, gzip }: PageFile, { isHashed }: { isHashed: boolean }): Response {
  const acceptsGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  const headers: Record<string, string> = {
    "Content-Type": type,
    "Cache-Control": isHashed ? "private, max-age=31536000, immutable" : "no-cache",
    Vary: "Accept-Encoding",
  };
  if (acceptsGzip) headers["Content-Encoding"] = "gzip";
  return new Response(acceptsGzip ? gzip : Bun.gunzipSync(gzip), { headers });
}

export function textResponse(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { "Content-Type": "text/plain; charset=utf-8" } });
}
