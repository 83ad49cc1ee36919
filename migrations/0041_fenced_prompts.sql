-- The sections of a judge's prompt are between tags that an output cannot forge. Evaluators that were made with the prompt of
-- before, themselves or as parts of others, have the new one; prompts of their owners stay.
update evaluator_versions set definition = replace(definition::text, o.text, n.text)::jsonb
from (select to_jsonb($$Question or input:
{{inputs | json}}

Answer to be judged:
{{output}}
{% if expected %}
A reference answer:
{{expected}}
{% endif %}$$::text)::text) o(text),
  (select to_jsonb($$Question or input:
<input-{{fence}}>
{{inputs | json}}
</input-{{fence}}>

Answer to be judged:
<answer-{{fence}}>
{{output}}
</answer-{{fence}}>
{% unless expected == nil %}
A reference answer:
<reference-{{fence}}>
{{expected}}
</reference-{{fence}}>
{% endunless %}$$::text)::text) n(text)
where position(o.text in definition::text) > 0;
