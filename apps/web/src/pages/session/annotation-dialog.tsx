import type { SessionDetail } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { FormDialog } from '../../ui/form.tsx';

type AnnotationChange = Body<'/v1/sessions/{session_id}', 'patch'>;

const MAX_TITLE_LENGTH = 120;
const MAX_NOTE_LENGTH = 4000;
/** Twenty tags of fifty characters, with what separates them. */
const MAX_TAGS_LENGTH = 1040;

/** The fields of the form; empty texts remove what was there. */
function readChange(form: HTMLFormElement): AnnotationChange {
  const data = new FormData(form);
  const readText = (name: string): string => String(data.get(name) ?? '').trim();
  const tags = readText('tags').split(',');
  return {
    given_title: readText('title') || null,
    tags: [...new Set(tags.map((tag) => tag.trim()).filter(Boolean))],
    note: readText('note') || null,
  };
}

/** The form that renames, tags and notes a session. */
export function AnnotationDialog({ session, close }: { session: SessionDetail; close: () => void }): ReactNode {
  const known = useAnswer('/v1/session-tags', {});
  const change = useMutation({
    mutationFn: (body: AnnotationChange) =>
      send('patch', '/v1/sessions/{session_id}', { parameters: { session_id: session.session_id }, body }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      close();
    },
  });
  return (
    <FormDialog
      title="Rename, tag or note this session"
      of={change}
      submit={(form) => change.mutate(readChange(form))}
      close={close}
    >
      <label>
        Title
        <input
          name="title"
          defaultValue={session.given_title ?? ''}
          placeholder={session.title}
          maxLength={MAX_TITLE_LENGTH}
        />
      </label>
      <label>
        Tags, separated by commas
        <input name="tags" defaultValue={session.tags.join(', ')} maxLength={MAX_TAGS_LENGTH} list="known-tags" />
      </label>
      <datalist id="known-tags">
        {known.data?.tags.map(({ tag }) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
      <label>
        Note
        <textarea name="note" rows={5} defaultValue={session.note ?? ''} maxLength={MAX_NOTE_LENGTH} />
      </label>
      <p className="muted">Everyone in this workspace sees it. It stays when the session grows.</p>
    </FormDialog>
  );
}
