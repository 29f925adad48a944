// The answer to `initialize`: the version, the capabilities and the ways to sign in. It is built without an Api, so that an
// editor gets it before a hub is started.
import { PROTOCOL_VERSION, type AuthMethod, type InitializeRequest, type InitializeResponse } from "@agentclientprotocol/sdk";

/** `session/fork` is a draft of the protocol, so that the types of the SDK do not have its capability. */
const draftCapabilities = { fork: {} };

/** skein speaks version 1 only. A client that needs another version closes the connection, as the protocol says. */
export function initializeAnswer({ clientCapabilities }: InitializeRequest, version: string): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "skein", title: "skein", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true, audio: false },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {}, ...draftCapabilities },
      _meta: { skein: { methods: ["_skein/fork", "_skein/graft"] } },
    },
    authMethods: authMethods(clientCapabilities?.auth?.terminal === true),
  };
}

export const localCredentials = "local-credentials";

/** The protocol allows a terminal method only for clients that can open a terminal. */
function authMethods(hasTerminal: boolean): AuthMethod[] {
  const local: AuthMethod = {
    id: localCredentials,
    name: "Keys and sign-ins of this machine",
    description: "skein uses your vendors' keys and your agents' sign-ins. `skein auth login` prints what is missing.",
  };
  const terminal: AuthMethod = {
    type: "terminal",
    id: "login",
    name: "Show which key to set",
    description: "Prints the variable for each vendor's key and the sign-in of each agent.",
    args: ["login"],
  };
  return hasTerminal ? [local, terminal] : [local];
}
