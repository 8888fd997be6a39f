import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createCliContext } from '../terminal/cli-context.ts';
import { startAgent } from './agent-process.ts';
import { createScreen } from './screen.ts';

describe('startAgent', () => {
  it('keeps what an agent wrote if it exits before its output is read', async () => {
    const context = createCliContext(process);
    const screen = createScreen(context);
    const { output, exited } = await startAgent(context, screen, {
      command: '/bin/sh',
      commandArguments: ['-c', 'echo said; kill -KILL $$'],
      isDirect: false,
      onStderr: () => undefined,
    });
    expect(await exited).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
    await sleep(50);
    const chunks: Uint8Array[] = [];
    for await (const chunk of output ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('said\n');
    await screen.close();
  });
});
