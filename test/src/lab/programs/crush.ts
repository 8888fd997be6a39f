import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findInFirst, type Program } from './program.ts';

export const crush: Program = {
  agent: 'crush',
  label: 'Crush',
  packageName: '@charmland/crush',
  command: 'crush',
  downloadsItself: true,
  keepsNoTokens: true,
  tools: {
    shell: (command) => ({ name: 'bash', input: { command, description: 'Run a command of the lab' } }),
    agent: (prompt) => ({ name: 'agent', input: { prompt } }),
  },
  async prepare({ home, url }) {
    const folder = join(home, '.config/crush');
    await mkdir(folder, { recursive: true });
    const model = { id: 'claude-opus-5-5', name: 'lab', context_window: 200_000, default_max_tokens: 32_000 };
    const settings = {
      providers: { lab: { type: 'anthropic', base_url: url, api_key: 'sk-lab', models: [model] } },
      models: { large: { provider: 'lab', model: model.id }, small: { provider: 'lab', model: model.id } },
      options: { disable_metrics: true, disable_provider_auto_update: true },
    };
    await writeFile(join(folder, 'crush.json'), JSON.stringify(settings));
    return { CRUSH_DISABLE_METRICS: '1', CRUSH_DISABLE_PROVIDER_AUTO_UPDATE: '1' };
  },
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /session[^\n]*?([0-9a-f-]{36})/i);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--session', id()],
      fork: () => [],
    }[turn.start]();
    return ['run', '--quiet', ...session, turn.prompt];
  },
  notTried: { fork: 'it has no fork', fast: 'it has no fast tier', compaction: 'only interactively' },
};
