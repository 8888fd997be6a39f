import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FULL_CONTEXT_TOKENS } from '../situations.ts';
import { type EarlierRun, findInFirst, type Program, type RunPlace } from './program.ts';

const CONTEXT_TOKENS = 262_144;

const findSession = (earlier: readonly EarlierRun[]): string => findInFirst(earlier, /"session_id":"([^"]+)"/);

async function writeSettings({ home, url }: RunPlace, context: number): Promise<void> {
  const settings = `default_model = "k3"
telemetry = false
[models.k3]
provider = "lab"
model = "kimi-k3"
max_context_size = ${context}
[providers.lab]
type = "openai"
base_url = "${url}/v1"
api_key = "sk-lab"
`;
  await mkdir(join(home, '.kimi-code'), { recursive: true });
  await writeFile(join(home, '.kimi-code/config.toml'), settings);
}

export const kimi: Program = {
  agent: 'kimi',
  label: 'Kimi Code',
  packageName: '@moonshot-ai/kimi-code',
  command: 'kimi',
  tools: {
    shell: (command) => ({ name: 'Bash', input: { command } }),
    agent: (prompt) => ({ name: 'Agent', input: { description: 'Do a part', prompt, subagent_type: 'coder' } }),
  },
  async prepare(place) {
    await writeSettings(place, CONTEXT_TOKENS);
    return { KIMI_DISABLE_TELEMETRY: '1', KIMI_CODE_NO_AUTO_UPDATE: '1' };
  },
  beforeTurn: (turn, place) => writeSettings(place, turn.isCompaction === true ? FULL_CONTEXT_TOKENS : CONTEXT_TOKENS),
  toArgumentsBefore: (turn, earlier) => (turn.start === 'fork' ? ['fork', findSession(earlier), '--yes'] : undefined),
  toArguments(turn, earlier) {
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--session', findSession(earlier)],
      // The latest session is the fork that was made before.
      fork: () => ['--continue'],
    }[turn.start]();
    return [...session, '--output-format', 'stream-json', '-p', turn.prompt];
  },
  notTried: { fast: 'it has no fast tier' },
};
