import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from './program.ts';

const PROVIDER = 'openai-compatible';
const MODEL = 'gpt-5.5';

export const cline: Program = {
  agent: 'cline',
  label: 'Cline CLI',
  packageName: 'cline',
  command: 'cline',
  tools: {
    shell: (command) => ({ name: 'run_commands', input: { commands: [command] } }),
    agent: (task) => ({ name: 'spawn_agent', input: { systemPrompt: 'Do a part.', task } }),
  },
  async prepare({ home, url }) {
    const folder = join(home, '.cline/data/settings');
    await mkdir(folder, { recursive: true });
    const settings = { provider: PROVIDER, apiKey: 'sk-lab', model: MODEL, baseUrl: `${url}/v1` };
    const providers = { [PROVIDER]: { settings, updatedAt: new Date().toISOString(), tokenSource: 'manual' } };
    const content = { version: 1, lastUsedProvider: PROVIDER, modes: {}, providers };
    await writeFile(join(folder, 'providers.json'), JSON.stringify(content));
    return { CLINE_TELEMETRY_DISABLED: '1', CLINE_NO_AUTO_UPDATE: '1' };
  },
  // Every start is a separate session.
  toArguments: (turn) => ['--json', '--provider', PROVIDER, '--model', MODEL, turn.prompt],
  notTried: {
    'two-turns': 'it resumes sessions only interactively',
    resume: 'it resumes sessions only interactively',
    fork: 'it has no fork',
    compaction: 'it resumes sessions only interactively',
    fast: 'it has no fast tier',
  },
};
