import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FULL_CONTEXT_TOKENS } from '../situations.ts';
import { findInFirst, type Program } from './program.ts';

const CONTEXT_TOKENS = 200_000;
const MODEL = 'claude-opus-5-5';

export const pi: Program = {
  agent: 'pi',
  label: 'Pi',
  packageName: '@earendil-works/pi-coding-agent',
  command: 'pi',
  tools: { shell: (command) => ({ name: 'bash', input: { command } }) },
  async prepare({ home, url }) {
    await mkdir(join(home, '.pi/agent'), { recursive: true });
    const model = { id: MODEL, name: MODEL, contextWindow: CONTEXT_TOKENS, maxTokens: 32_000 };
    const lab = { baseUrl: url, api: 'anthropic-messages', apiKey: 'sk-lab', models: [model] };
    await writeFile(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { lab } }));
    return { PI_OFFLINE: '1', PI_TELEMETRY: '0' };
  },
  async beforeTurn(turn, { home }) {
    // It compacts what leaves less than the reserve of the context.
    const compaction =
      turn.isCompaction === true
        ? { enabled: true, reserveTokens: CONTEXT_TOKENS - FULL_CONTEXT_TOKENS, keepRecentTokens: 10 }
        : {};
    await writeFile(join(home, '.pi/agent/settings.json'), JSON.stringify({ compaction }));
  },
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"type":"session"[^\n]*?"id":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--session', id()],
      fork: () => ['--fork', id()],
    }[turn.start]();
    return ['-p', '--mode', 'json', '--provider', 'lab', '--model', MODEL, ...session, turn.prompt];
  },
  notTried: { 'sub-agent': 'it has no sub-agents', fast: 'it has no fast tier' },
};
