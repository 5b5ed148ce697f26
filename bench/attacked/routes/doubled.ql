-- What a client gives, doubled nineteen times.
a0 = "{text}{text}"
a1 = "{a0}{a0}{a0}{a0}"
a2 = "{a1}{a1}{a1}{a1}"
a3 = "{a2}{a2}{a2}{a2}"
a4 = "{a3}{a3}{a3}{a3}"
a5 = "{a4}{a4}{a4}{a4}"
a6 = "{a5}{a5}{a5}{a5}"
a7 = "{a6}{a6}{a6}{a6}"
a8 = "{a7}{a7}{a7}{a7}"
a9 = "{a8}{a8}{a8}{a8}"
return "{a9}" via route '/doubled?text={text}' using method get
