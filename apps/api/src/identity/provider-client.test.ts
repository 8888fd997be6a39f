import { expect, it } from 'vitest';
import { limitFetch } from './provider-client.ts';

const OPTIONS = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const;
const answer = (body: ConstructorParameters<typeof Response>[0], status = 200) =>
  limitFetch(async () => new Response(body, { status }));

it('asks providers by https, or on this machine', async () => {
  const ask = answer('{}');
  for (const url of ['https://id.example/token', 'http://127.0.0.1:9/token', 'http://localhost/token'])
    expect(await (await ask(url, OPTIONS)).text()).toBe('{}');
  for (const url of ['http://id.example/token', 'http://169.254.169.254/', 'file:///etc/passwd', 'nothing'])
    await expect(ask(url, OPTIONS)).rejects.toThrow('A URL is not https');
});

it('reads a megabyte of an answer at most, also of one without an end', async () => {
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)) });
  await expect(answer(endless)('https://id.example', OPTIONS)).rejects.toThrow('An answer is too large');
  const whole = await answer('x'.repeat(1024 * 1024))('https://id.example', OPTIONS);
  expect((await whole.text()).length).toBe(1024 * 1024);
});

it('passes on answers without a body', async () => {
  expect((await answer(null, 204)('https://id.example', OPTIONS)).status).toBe(204);
});
