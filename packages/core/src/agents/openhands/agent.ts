import type { Agent } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { createOpenHandsReader } from './reader.ts';

/**
 * OpenHands, with conversations of its CLI and SDK. Each is a folder with a state file and one file for each event.
 * https://github.com/OpenHands/software-agent-sdk openhands-sdk/openhands/sdk/conversation/persistence_const.py
 */
export const openHands: Agent = {
  id: 'openhands',
  label: 'OpenHands',
  places: [
    { holds: 'folder', variable: 'OPENHANDS_CONVERSATIONS_DIR', bases: [], files: ['*/base_state.json'] },
    { holds: 'folder', bases: ['.openhands'], files: ['conversations/*/base_state.json'] },
  ],
  folder: { head: '{session}/base_state.json', files: '{session}/events/event-*.json' },
  formats: [toCanonicalFormat('openhands', createOpenHandsReader)],
};
