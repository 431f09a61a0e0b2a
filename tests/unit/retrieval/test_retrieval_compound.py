"""Which questions ask several things, and which only hold an "and"."""

from __future__ import annotations

import pytest

from localrag.retrieval.compound import parts

COMPOUND = {
    "When was IBM founded and who was its first president?": (
        "When was IBM founded",
        "who was its first president? IBM founded",
    ),
    "What is the population of Tokyo? Which city is the largest?": (
        "What is the population of Tokyo?",
        "Which city is the largest? population Tokyo",
    ),
    "When did the flight crash? Why?": (),  # "Why?" is about nothing but the first
    "How long is the lease, what does the garage cost, and who pays the broker?": (
        "How long is the lease, what does the garage cost",
        "who pays the broker? long lease garage cost",
    ),
    "What is the rent; when is it due; and who collects the money?": (
        "What is the rent",
        "when is it due rent",
        "who collects the money? due rent",  # the one before leans, so the one before that too
    ),
    "Describe the trim system and list the checklists": ("Describe the trim system", "list the checklists trim system"),
    "Compare the mallard with the Muscovy duck": ("the mallard", "the Muscovy duck"),
    "What is the difference between dabbling ducks and diving ducks?": ("dabbling ducks", "diving ducks"),
    "How does the old design differ from the new software?": ("the old design", "the new software"),
    "Stage 1 vs stage 3?": ("Stage 1", "stage 3"),
    "Which plant is larger, the Pterocarya or the Cotula?": (
        "Which plant is larger Pterocarya",
        "Which plant is larger Cotula",
    ),
    "Are Medici and Senet both board games?": ("Medici both board games?", "Senet both board games?"),
    "Were Scott Derrickson and Ed Wood of the same nationality?": (
        "Scott Derrickson of the same nationality?",
        "Ed Wood of the same nationality?",
    ),
    "Wann endet der Vertrag und wer hat den Mietvertrag unterschrieben?": (
        "Wann endet der Vertrag",
        "wer hat den Mietvertrag unterschrieben? endet Vertrag",
    ),
    "Was ist der Unterschied zwischen Miete und Pacht?": ("Miete", "Pacht"),
}

SINGLE = """
How much was spent on research and development in 2012?
What are the terms and conditions of the lease?
When was Marks and Spencer founded?
What was revenue between 2010 and 2012?
Who wrote Romeo and Juliet?
What do Simon and Garfunkel sing about?
What is the capital of Bosnia and Herzegovina?
When and where was Tesla born?
Who founded IBM and when?
What are profit and loss?
Who is the Minister for Health and Social Services?
How do supply and demand set the price?
What is the research and development budget of Johnson and Johnson?
Is bread and butter included in the daily allowance?
Which taxes and duties apply to wine and beer?
What happened between March and May?
Does the policy cover fire and theft?
Who pays for repairs and maintenance?
What does the Department of Housing and Urban Development do?
What are the pros and cons of the plan?
What is the trial and error method?
Where do ducks eat and sleep?
How do ducks build and defend their nests?
Who bought and sold the microcomputer division?
What is the height and weight of the statue?
When must the form be signed and returned?
What does "search and rescue" mean?
How are hot and cold air mixed in the valve?
Which rights and obligations does a tenant have?
What is the Securities and Exchange Commission?
What notes are kept for both laminar and turbulent flow?
When the election produced a majority, what was it the first occurrence of?
Name the person who said and did nothing.
What show does the player who missed the season host?
In which state, and under which law, is the company registered?
Is the deposit or the rent due in March?
What is the one and only exception?
Wie hoch waren Forschung und Entwicklung?
Was steht in den Allgemeinen Geschäftsbedingungen über Rechte und Pflichten?
Wer entscheidet, wie Land oder Eigentum genutzt werden darf?
""".strip().splitlines()


@pytest.mark.parametrize(("question", "expected"), COMPOUND.items())
def test_the_parts_of_a_compound_question(question: str, expected: tuple[str, ...]) -> None:
    assert parts(question) == expected


@pytest.mark.parametrize("question", SINGLE)
def test_a_single_question_is_left_whole(question: str) -> None:
    assert len(SINGLE) == 40
    assert parts(question) == ()


def test_more_than_three_questions_are_searched_as_one() -> None:
    question = "Who paid the rent? Who paid the gas? Who paid the water? Who paid the tax?"
    assert parts(question) == ()
    assert len(parts(question.removesuffix(" Who paid the tax?"))) == 3
