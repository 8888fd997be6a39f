import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FULL_CONTEXT_TOKENS } from '../situations.ts';
import { findInFirst, type Program, type RunPlace } from './program.ts';

/** Settings that would ask other machines for something. */
const OFF = [
  'DISABLE_AUTOUPDATE',
  'DISABLE_MODELS_FETCH',
  'DISABLE_SHARE',
  'DISABLE_LSP_DOWNLOAD',
  'DISABLE_DEFAULT_PLUGINS',
  'DISABLE_SESSION_INGEST',
  'DISABLE_PRESENCE',
  'DISABLE_CODEBASE_INDEXING',
];

const CONTEXT = { context: 200_000, output: 32_000 };
const FULL_CONTEXT = { context: FULL_CONTEXT_TOKENS, output: 1_000 };

/** opencode and Kilo, which is made from it. */
const create = (agent: string, label: string, packageName: string): Program => ({
  agent,
  label,
  packageName,
  command: agent,
  formatPage: 'opencode',
  tools: {
    shell: (command) => ({ name: 'bash', input: { command, description: 'Run a command of the lab' } }),
    agent: (prompt) => ({
      name: 'task',
      input: { description: 'Do a part', prompt, subagent_type: 'general' },
    }),
  },
  async prepare(place) {
    await writeSettings(agent, place, false);
    return Object.fromEntries(OFF.flatMap((name) => [`OPENCODE_${name}`, `KILO_${name}`]).map((name) => [name, '1']));
  },
  beforeTurn: (turn, place) => writeSettings(agent, place, turn.isCompaction === true),
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"sessionID":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--session', id()],
      fork: () => ['--session', id(), '--fork'],
    }[turn.start]();
    // It puts quotes around arguments that have spaces.
    return ['run', '--format', 'json', ...session, ...turn.prompt.split(' ')];
  },
  notTried: { fast: 'it has no fast tier' },
});

async function writeSettings(agent: string, { home, url }: RunPlace, isFull: boolean): Promise<void> {
  const folder = join(home, '.config', agent);
  await mkdir(folder, { recursive: true });
  const lab = {
    npm: '@ai-sdk/anthropic',
    name: 'lab',
    options: { baseURL: `${url}/v1`, apiKey: 'sk-lab' },
    models: { 'claude-opus-5-5': { name: 'lab', limit: isFull ? FULL_CONTEXT : CONTEXT } },
  };
  const settings = {
    model: 'lab/claude-opus-5-5',
    autoupdate: false,
    share: 'disabled',
    permission: 'allow',
    provider: { lab },
  };
  await writeFile(join(folder, `${agent}.json`), JSON.stringify(settings));
}

export const opencode = create('opencode', 'opencode', 'opencode-ai');
export const kilo = create('kilo', 'Kilo CLI', '@kilocode/cli');
