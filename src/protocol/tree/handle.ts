// A handle points at data that is too big for a node, or that lives outside the tree.
import type { Handle } from "../schema/tree.ts";

export type { Handle, HandleMetadata } from "../schema/tree.ts";

/** Where the copy of a handle's data is kept: a `bash` handle is its own, the others name one, so that replay is faithful. */
export function storedIdentifier(handle: Handle): string {
  return typeof handle.metadata["stored"] === "string" ? handle.metadata["stored"] : handle.identifier;
}
