import type { ApiApp } from '../api-dependencies.ts';

/**
 * Does nothing for clients that have closed their connection before their request is looked at. Their address is
 * unknown by then, so limits for each address would fail.
 */
export function leaveGoneClients(app: ApiApp): void {
  app.addHook('onRequest', async ({ raw: { socket } }, reply) => {
    // Once asked for, the address stays known.
    if (socket.remoteAddress !== undefined) return;
    reply.hijack();
    socket.destroy();
  });
}
