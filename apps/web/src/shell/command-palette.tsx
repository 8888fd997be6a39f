import type { SearchResult } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { SUBJECTS, toSubjectPath, toValueLabel } from '../format/dimensions.ts';
import { toShortPath } from '../format/values.ts';
import { listMenuPages, type Page } from '../pages/pages.ts';
import { toResultSearch } from '../parts/result-search.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { useShowsFigures } from '../server-data/use-shows.ts';
import { Modal } from '../ui/modal.tsx';
import { type Row, readText } from '../ui/report-figure.tsx';
import { stringifySearch } from '../ui/use-url-state.ts';

interface Command {
  id: string;
  label: string;
  detail: string;
  href: string;
}

const MIN_SEARCH_LENGTH = 2;
const SHOWN_RESULTS = 8;
/** For each dimension, the values that a part of a name can find, and how many of them are shown. */
const FOUND_VALUES = 500;
const SHOWN_VALUES = 3;
/** A search for each keystroke would use up the key's requests. */
const TYPING_PAUSE_MS = 250;

/** Opens a page, or searches all sessions while the user types. */
export function CommandPalette({ close }: { close: () => void }): ReactNode {
  const navigate = useNavigate();
  const listId = useId();
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const [wanted, setWanted] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isSearching = wanted.length >= MIN_SEARCH_LENGTH;
  const found = useAnswer('/v1/search', { q: wanted || '-', limit: SHOWN_RESULTS }, { isEnabled: isSearching });
  const whoami = useAnswer('/v1/whoami', {});
  const subjects = useSubjects();
  const commands = [
    ...toPageCommands(text, listMenuPages(whoami.data?.scopes)),
    ...toSubjectCommands(text, subjects),
    ...(text.trim().length >= MIN_SEARCH_LENGTH ? [toSearchCommand(text.trim())] : []),
    ...(isSearching ? (found.data?.results.map(toResultCommand) ?? []) : []),
  ];
  const current = Math.min(selected, commands.length - 1);
  const go = ({ href }: Command): void => {
    close();
    void navigate({ href });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setSelected((current + step + commands.length) % commands.length);
    }
    const command = commands[current];
    if (event.key === 'Enter' && command !== undefined) go(command);
  };
  return (
    <Modal title="Search or go to" close={close}>
      <input
        // biome-ignore lint/a11y/noAutofocus: the dialog is opened to type here
        autoFocus
        className="palette-input"
        type="search"
        placeholder="Words in prompts, answers, tools; or a page, a person, a model, …"
        aria-label="Search or go to"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands[current] && `${listId}-${current}`}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setSelected(0);
        }}
        onKeyDown={onKeyDown}
      />
      <CommandList listId={listId} commands={commands} current={current} go={go} />
      {isSearching && found.error !== null && <p className="muted">{found.error.message}</p>}
    </Modal>
  );
}

function toPageCommands(text: string, pages: readonly Page[]): Command[] {
  const wanted = text.trim().toLowerCase();
  return pages.flatMap(({ path, label }) =>
    label?.toLowerCase().includes(wanted) ? [{ id: path, label, detail: 'page', href: path }] : [],
  );
}

type Subject = (typeof SUBJECTS)[number];

/** The values that have pages, the largest first, requested once for each opening. */
function useSubjects(): { subject: Subject; rows: readonly Row[] }[] {
  const [tools, dimensions] = [SUBJECTS.filter(isTool), SUBJECTS.filter((subject) => !isTool(subject))];
  const query = { limit: FOUND_VALUES };
  const breakdown = dimensions.map(({ name }) => name);
  const isEnabled = useShowsFigures();
  const usage = useAnswer('/v1/analytics/usage', { ...query, group_by: '', breakdown }, { isEnabled });
  const calls = useAnswer('/v1/analytics/tools', { ...query, group_by: 'tool', percentiles: 'false' }, { isEnabled });
  return [
    ...dimensions.map((subject, index) => ({ subject, rows: usage.data?.breakdowns?.[index]?.rows ?? [] })),
    ...tools.map((subject) => ({ subject, rows: calls.data?.rows ?? [] })),
  ];
}

const isTool = ({ route }: Subject): boolean => route === '/v1/analytics/tools';

function toSubjectCommands(text: string, subjects: ReturnType<typeof useSubjects>): Command[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  return subjects.flatMap(({ subject, rows }) => {
    const names = rows.flatMap((row) => readText(row, subject.name) ?? []);
    return names
      .filter((name) => name.toLowerCase().includes(wanted))
      .slice(0, SHOWN_VALUES)
      .map((name) => ({
        id: `${subject.name} ${name}`,
        label: toValueLabel(subject, name),
        detail: subject.label.toLowerCase(),
        href: `${toSubjectPath(subject)}${stringifySearch({ [subject.name]: name })}`,
      }));
  });
}

const toSearchCommand = (text: string): Command => ({
  id: 'all',
  label: `Search for “${text}”`,
  detail: 'all results',
  href: `/search?q=${encodeURIComponent(text)}`,
});

const toResultCommand = (result: SearchResult): Command => {
  const words = result.snippet.map((part) => part.text).join('');
  return {
    id: `${result.message_id} ${result.block_order}`,
    label: toVisible(result.title),
    // The project first, because the rest is cut, and often says the same as the title.
    detail: `${toShortPath(result.project).split('/').at(-1)} · ${toVisible(words.trim().slice(0, 160))}`,
    href: `/sessions/${encodeURIComponent(result.session_id)}${stringifySearch(toResultSearch(result))}`,
  };
};

interface CommandListProps {
  listId: string;
  commands: readonly Command[];
  /** Index of the selected one. */
  current: number;
  go: (command: Command) => void;
}

const CommandList = ({ listId, commands, current, go }: CommandListProps): ReactNode => (
  <div role="listbox" id={listId} aria-label="Results" className="palette-list">
    {commands.map((command, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
      <div
        key={command.id}
        id={`${listId}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === current}
        onClick={() => go(command)}
      >
        <span className="palette-label">{command.label}</span>
        <span className="muted">{command.detail}</span>
      </div>
    ))}
  </div>
);
