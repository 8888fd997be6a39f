import './rename-repositories.css';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { type Body, send } from '../server-data/client.ts';
import { queryClient, useAnswer } from '../server-data/use-answer.ts';
import { FormDialog } from '../ui/form.tsx';

const MAX_NAME_LENGTH = 255;
const MAX_OFFERED = 1000;

type Renaming = Body<'/v1/repository-renames', 'post'>;

/** Gives repositories a new name, or merges them into one that has it. `done` gets that name. */
export function RenameRepositories({
  names,
  close,
  done,
}: {
  /** At least one. */
  names: readonly string[];
  close: () => void;
  done: (name: string) => void;
}): ReactNode {
  const [first = ''] = names;
  const [newName, setNewName] = useState(first);
  const all = useAnswer('/v1/repositories', { limit: MAX_OFFERED });
  const known = all.data?.repositories.map(({ name }) => name) ?? [];
  const wanted = newName.trim();
  const isMerging = names.length > 1 || (wanted !== first && known.includes(wanted));
  const rename = useMutation({
    mutationFn: (body: Renaming) => send('post', '/v1/repository-renames', { body }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      done(wanted);
    },
  });
  const title = names.length === 1 ? `Rename or merge ${first}` : `Merge ${names.length} repositories`;
  return (
    <FormDialog
      title={title}
      className="rename-form"
      label={isMerging ? 'Merge' : 'Rename'}
      of={rename}
      isDisabled={wanted === '' || (names.length === 1 && wanted === first)}
      submit={() => rename.mutate({ repositories: [...names], new_name: wanted })}
      close={close}
    >
      {names.length > 1 && (
        <ul>
          {names.map((name) => (
            <li key={name}>{name}</li>
          ))}
        </ul>
      )}
      <NameField
        label={
          names.length === 1
            ? 'New name, or the repository to merge it into'
            : 'Repository to merge them into, or a new name'
        }
        known={known}
        value={newName}
        change={setNewName}
      />
      <p className="muted">
        All reports use the new name, for stored sessions and for new ones. Transcripts stay as they are. Admin →
        Repositories can undo it.
      </p>
    </FormDialog>
  );
}

interface NameFieldProps {
  label: string;
  known: readonly string[];
  value: string;
  change: (name: string) => void;
}

function NameField({ label, known, value, change }: NameFieldProps): ReactNode {
  const list = useId();
  return (
    <>
      <label>
        {label}
        <input
          name="name"
          required
          value={value}
          maxLength={MAX_NAME_LENGTH}
          list={list}
          onChange={({ target }) => change(target.value)}
        />
      </label>
      <datalist id={list}>
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
