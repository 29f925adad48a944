// The SDK's client over the WebSocket of a hub.
import { client, type AnyMessage, type SessionUpdate } from "@agentclientprotocol/sdk";
import { readFileSync } from "node:fs";
import type { HubFile } from "./hub-client.ts";

export async function connectAcpSocket({ url, token_file: tokenFile }: Pick<HubFile, "url" | "token_file">) {
  const headers = { Authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const socket = new WebSocket(`${url}/acp`, { headers });
  const frames: string[] = [];
  const updates: SessionUpdate[] = [];
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      socket.addEventListener("message", ({ data }) => {
        frames.push(String(data));
        controller.enqueue(JSON.parse(String(data)) as AnyMessage);
      });
    },
  });
  const writable = new WritableStream<AnyMessage>({ write: (message) => socket.send(JSON.stringify(message)) });
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  const app = client({ name: "journey" }).onNotification("session/update", ({ params }) => void updates.push(params.update));
  const { agent } = app.connect({ readable, writable });
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return { socket, agent, updates, frames };
}
