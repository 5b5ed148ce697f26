{
  "q": "{{params.q}}", "rows": {{params.rows}}
}
