import type { Agent } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { crushDatabase } from './database.ts';
import { createCrushReader } from './reader.ts';

/**
 * Crush, with an SQLite store in each project; one file lists them all. It does not record the tokens of responses.
 * https://github.com/charmbracelet/crush internal/db/migrations, internal/projects
 */
export const crush: Agent = {
  id: 'crush',
  label: 'Crush',
  places: [
    {
      ...{ holds: 'database', variable: 'XDG_DATA_HOME', bases: ['.local/share'], platforms: ['linux', 'darwin'] },
      ...{ files: ['crush/projects.json'], listed: { list: 'projects', folder: 'data_dir', file: 'crush.db' } },
    },
    {
      ...{ holds: 'database', variable: 'LOCALAPPDATA', bases: ['AppData/Local'], platforms: ['win32'] },
      ...{ files: ['crush/projects.json'], listed: { list: 'projects', folder: 'data_dir', file: 'crush.db' } },
    },
  ],
  databases: [{ ...crushDatabase, has: ['messages.provider'] }],
  formats: [toCanonicalFormat('crush', createCrushReader)],
};
