import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { toBlockList } from './check-address.ts';
import { sendWebhook, signWebhook } from './send-webhook.ts';

it('signs as the Standard Webhooks specification has it', () => {
  // The example of the specification's libraries.
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  expect(signWebhook(secret, id, 1_614_265_330, '{"test": 2432232314}')).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('connects to the addresses that were checked, and does not ask for the name again', async () => {
  const server = createServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const resolve = vi.fn(async () => [{ address: '127.0.0.1', family: 4 as const }]);
  // No resolver knows names under `.invalid` (RFC 6761).
  const url = `http://receiver.invalid:${(server.address() as AddressInfo).port}/`;
  const rules = { allowed: toBlockList(['127.0.0.0/8']), resolve, timeoutMs: 120_000 };
  await sendWebhook({ url, headers: {}, body: '{}' }, rules);
  expect(resolve.mock.calls).toEqual([['receiver.invalid']]);
});
